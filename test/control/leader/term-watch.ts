import type { Leadership, Term } from '../../../src/control/leader/leadership.ts';

export type Begun = { readonly who: string; readonly epoch: number; readonly atMs: number; readonly predecessor: string | undefined };

/** Watches who leads: what it finds must not be. */
export type TermWatch = {
  add(who: string, leadership: Leadership): void;
  begun(who: string, term: Term): void;
  /** Did something as a leader. */
  acted(who: string, term: Term): void;
  readonly terms: readonly Begun[];
  readonly findings: readonly string[];
  actions(who: string): number;
};

export function createTermWatch(nowMs: () => number): TermWatch {
  const leaderships = new Map<string, Leadership>();
  const terms: Begun[] = [];
  const findings: string[] = [];
  const actions = new Map<string, number>();
  return {
    terms,
    findings,
    actions: (who) => actions.get(who) ?? 0,
    add: (who, leadership) => void leaderships.set(who, leadership),
    begun(who, term) {
      const before = terms.at(-1);
      if (before !== undefined && term.epoch <= before.epoch) findings.push(`epoch ${term.epoch} of ${who} after ${before.epoch}`);
      // A term that has ended never comes back, so it is enough to look when one begins.
      for (const [other, leadership] of leaderships) {
        const current = other === who ? undefined : leadership.current();
        if (current !== undefined) findings.push(`${who} (${term.epoch}) beside ${other} (${current.term.epoch})`);
      }
      terms.push({ who, epoch: term.epoch, atMs: nowMs(), predecessor: term.predecessor });
    },
    acted(who, { epoch }) {
      actions.set(who, (actions.get(who) ?? 0) + 1);
      if (epoch !== terms.at(-1)?.epoch) findings.push(`${who} acts in epoch ${epoch}, of ${terms.at(-1)?.epoch}`);
    },
  };
}

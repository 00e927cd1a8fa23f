import type { SeededRandom } from '../simulation/seeded-random.ts';

/** Which fault a call meets, if any; asked once for each call, in the order of the calls. */
export type Choose<Call, Fault> = (call: Call) => Fault | undefined;

export type Rule<Call, Fault> = {
  readonly match: (call: Call) => boolean;
  /** Only the nth matching call, counted from 1; absent: every one. */
  readonly nth?: number;
  readonly fault: Fault;
};

export type Script<Call, Fault> = {
  readonly choose: Choose<Call, Fault>;
  add(rule: Rule<Call, Fault>): void;
  /** Takes all rules away: from here on nothing fails. */
  clear(): void;
  /** Rules that no call has met: a test whose faults never came has tested nothing. */
  unmet(): number;
};

/** Faults at exactly the calls that a test names. Rules are tried in the order in which they were added; each counts for itself. */
export function createScript<Call, Fault>(...given: readonly Rule<Call, Fault>[]): Script<Call, Fault> {
  const rules = new Map<Rule<Call, Fault>, { seen: number; met: number }>();
  const add = (rule: Rule<Call, Fault>): void => void rules.set(rule, { seen: 0, met: 0 });
  given.forEach(add);
  return {
    add,
    clear: () => rules.clear(),
    unmet: () => [...rules.values()].filter(({ met }) => met === 0).length,
    choose(call) {
      let fault: Fault | undefined;
      for (const [rule, counts] of rules) {
        if (!rule.match(call)) continue;
        counts.seen++;
        if (fault !== undefined || (rule.nth !== undefined && rule.nth !== counts.seen)) continue;
        counts.met++;
        ({ fault } = rule);
      }
      return fault;
    },
  };
}

/** A fault by chance: each with its probability, at most one for a call. The same seed gives the same faults for the same calls. */
export function randomly<Call, Fault>(
  random: SeededRandom,
  faults: readonly {
    readonly probability: number;
    readonly match?: (call: Call) => boolean;
    readonly fault: (random: SeededRandom) => Fault;
  }[],
): Choose<Call, Fault> {
  return (call) => {
    let draw = random.fraction();
    for (const { probability, match, fault } of faults) {
      draw -= probability;
      if (draw < 0) return match === undefined || match(call) ? fault(random) : undefined;
    }
    return undefined;
  };
}

/** The first of several that has a fault for the call. All are asked, so that each counts every call. */
export function firstOf<Call, Fault>(...choosers: readonly Choose<Call, Fault>[]): Choose<Call, Fault> {
  return (call) => choosers.map((choose) => choose(call)).find((fault) => fault !== undefined);
}

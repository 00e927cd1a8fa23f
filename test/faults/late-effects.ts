import type { Clock } from '../../src/ports/clock.ts';

/** Effects whose caller has been told something else already: they land after a while, or when a test lets them. */
export type LateEffects = {
  /** Lands after `ms`, or, without, at the next `land()`. */
  add(what: string, effect: () => Promise<unknown>, ms?: number): void;
  /** Lets all that are held land, in the order in which they were asked for. */
  land(): Promise<void>;
  /** Effects that have not landed. */
  waiting(): number;
  /** What became of those that have. */
  readonly landed: readonly { readonly what: string; readonly result: unknown }[];
};

const forEver = new AbortController().signal;

export function createLateEffects(clock: Clock): LateEffects {
  const held: (() => Promise<void>)[] = [];
  const landed: { what: string; result: unknown }[] = [];
  let waiting = 0;

  return {
    landed,
    waiting: () => waiting,
    add(what, effect, ms) {
      waiting++;
      const run = async (): Promise<void> => {
        // An effect that fails late has nobody to tell; whoever looks at `landed` sees it.
        const result = await effect().catch((error: unknown) => error);
        waiting--;
        landed.push({ what, result });
      };
      if (ms === undefined) held.push(run);
      else void clock.sleep(ms, forEver).then(run);
    },
    async land() {
      for (const run of held.splice(0)) await run();
    },
  };
}

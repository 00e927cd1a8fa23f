import type { Clock } from '../../src/ports/clock.ts';
import type { Make } from './intercept.ts';

/**
 * A process that stands still now and then, as under SIGSTOP: no timer of it goes off meanwhile, no answer reaches it, and it
 * hears nobody. Its clocks go on, and what it has sent is on its way.
 */
export type Freezer = {
  /** As the process sees the time. */
  clock(clock: Clock): Clock;
  /** Around a call that it makes, or that is made of it. */
  around<R>(call: unknown, make: Make<R>): Promise<R>;
  /** At once, unless it stands still; after a death, never. */
  thawed(): Promise<void>;
  freeze(): void;
  thaw(): void;
};

export function createFreezer(): Freezer {
  let ice: { readonly melted: Promise<void>; readonly melt: () => void } | undefined;
  const thawed = async (): Promise<void> => {
    if (ice === undefined) return;
    await ice.melted;
    // It may have been frozen again at once.
    await thawed();
  };
  return {
    thawed,
    clock: (clock) => ({
      nowMs: clock.nowMs,
      monotonicMs: clock.monotonicMs,
      async sleep(ms, signal) {
        await clock.sleep(ms, signal);
        await thawed();
      },
      deadline(ms) {
        const own = new AbortController();
        const due = clock.deadline(ms);
        due.addEventListener('abort', () => void thawed().then(() => own.abort(due.reason)), { once: true });
        return own.signal;
      },
    }),
    async around(_call, make) {
      await thawed();
      try {
        return await make();
      } finally {
        await thawed();
      }
    },
    freeze() {
      const { promise: melted, resolve: melt } = Promise.withResolvers<void>();
      ice ??= { melted, melt };
    },
    thaw() {
      const before = ice;
      ice = undefined;
      before?.melt();
    },
  };
}

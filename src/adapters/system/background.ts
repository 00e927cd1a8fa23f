import type { Background } from '../../ports/background.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Telemetry } from '../../ports/telemetry.ts';

/** Background work of one instance. A process waits for it when it stops, a function before each invocation ends. */
export type SystemBackground = Background & {
  /** Resolves when nothing is under way; rejects with the signal's reason. */
  settled(signal: AbortSignal): Promise<void>;
  /** The same work, which counts as under way, too; how it ends is its own caller's matter. */
  watch<T>(work: Promise<T>): Promise<T>;
};

export function createBackground(deps: { readonly clock: Clock; readonly telemetry: Telemetry }): SystemBackground {
  const running = new Set<Promise<unknown>>();
  return {
    watch(work) {
      const over: Promise<unknown> = work.then(
        () => running.delete(over),
        () => running.delete(over),
      );
      running.add(over);
      return work;
    },
    run(name, msMax, task) {
      const work = task(deps.clock.deadline(msMax))
        .catch((error: unknown) => {
          deps.telemetry.count('kelp.background.failures', 1, { task: name });
          deps.telemetry.log('warn', 'background work failed', { task: name, error: String(error) });
        })
        .finally(() => running.delete(work));
      running.add(work);
    },
    async settled(signal) {
      const ended = new Promise<never>((_, reject) => {
        if (signal.aborted) reject(signal.reason as Error);
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      // It may come when nobody waits any more, or never had to.
      ended.catch(() => undefined);
      while (running.size > 0) await Promise.race([Promise.all(running), ended]);
    },
  };
}

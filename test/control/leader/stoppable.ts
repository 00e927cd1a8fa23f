import type { Clock } from '../../../src/ports/clock.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import type { VirtualClock } from '../../simulation/virtual-clock.ts';

/** A process that can be stopped: it notices nothing until it goes on, while time and the table do. */
export type Stoppable = {
  readonly clock: Clock;
  /** Requests that are under way go on; their answers are seen when the process goes on. */
  readonly wrap: (table: MetadataTable) => MetadataTable;
  readonly stop: () => void;
  readonly go: () => void;
  readonly isStopped: () => boolean;
};

/**
 * As SIGSTOP does it, timers and answers wait and the clock runs on. `frozen`: the clock that never goes back stands still,
 * too, as in a machine that was suspended. `skew`: its wall clock is off, and may jump.
 */
export function createStoppable(
  world: VirtualClock,
  { frozen = false, skew = { ms: 0 } }: { readonly frozen?: boolean; readonly skew?: { ms: number } } = {},
): Stoppable {
  const under = world.skewed(skew);
  let stoppedAtMs: number | undefined;
  let missedMs = 0;
  let onGo: (() => void)[] = [];
  /** What has come to an end is noticed once the process runs. */
  const noticed = async <T>(work: Promise<T>): Promise<T> => {
    const [result] = await Promise.allSettled([work]);
    if (stoppedAtMs !== undefined) await new Promise<void>((resolve) => void onGo.push(resolve));
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };
  const clock: Clock = {
    nowMs: under.nowMs,
    monotonicMs: () => (frozen ? (stoppedAtMs ?? under.monotonicMs()) - missedMs : under.monotonicMs()),
    sleep: (ms, signal) => noticed(under.sleep(ms, signal)),
    deadline: under.deadline,
  };
  return {
    clock,
    wrap: (table) => interceptTable(table, (_, make) => noticed(make())),
    isStopped: () => stoppedAtMs !== undefined,
    stop() {
      stoppedAtMs ??= under.monotonicMs();
    },
    go() {
      if (stoppedAtMs === undefined) return;
      missedMs += under.monotonicMs() - stoppedAtMs;
      stoppedAtMs = undefined;
      const waiting = onGo;
      onGo = [];
      for (const resolve of waiting) resolve();
    },
  };
}

import type { Clock } from '../../ports/clock.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { logLine } from '../prometheus/log-line.ts';

export type LogTelemetry = Telemetry & {
  /** What was counted since it was taken last, by name, over all attributes. */
  takeCounts(): Readonly<Record<string, number>>;
};

export type LogTelemetryOptions = {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Takes one log line, without a line break. */
  readonly write: (line: string) => void;
};

/**
 * Where nobody scrapes and no instance lasts: logs as lines of JSON, and sums counts for whoever writes one about them. What
 * goes up and down, and durations, mean nothing without somebody who asks again and again: they are dropped.
 */
export function createLogTelemetry({ clock, write }: LogTelemetryOptions): LogTelemetry {
  let counts = new Map<string, number>();
  return {
    count: (name, value) => void counts.set(name, (counts.get(name) ?? 0) + value),
    adjust: () => undefined,
    record: () => undefined,
    log: (level, message, fields = {}) => write(logLine({ timeMs: clock.nowMs(), level, message, fields })),
    takeCounts() {
      const taken = Object.fromEntries(counts);
      counts = new Map();
      return taken;
    },
  };
}

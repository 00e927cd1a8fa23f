import { logLine } from '../adapters/prometheus/log-line.ts';
import type { Clock } from '../ports/clock.ts';
import type { Attributes, Telemetry } from '../ports/telemetry.ts';

/** What a thread counts and logs, for the process' own telemetry: values that can be copied from one to the other. */
export type ThreadMessage =
  | { readonly kind: 'count' | 'adjust' | 'record'; readonly name: string; readonly value: number; readonly attributes: Attributes }
  | { readonly kind: 'log'; readonly line: string };

/** Of the thread. `post`: to whoever has started it. */
export function createThreadTelemetry(deps: {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly post: (message: ThreadMessage) => void;
}): Telemetry {
  const { clock, post } = deps;
  return {
    count: (name, value, attributes = {}) => post({ kind: 'count', name, value, attributes }),
    adjust: (name, value, attributes = {}) => post({ kind: 'adjust', name, value, attributes }),
    record: (name, value, attributes = {}) => post({ kind: 'record', name, value, attributes }),
    log: (level, message, fields = {}) => post({ kind: 'log', line: logLine({ timeMs: clock.nowMs(), level, message, fields }) }),
  };
}

export type Relay = {
  take(message: ThreadMessage): void;
  /** The thread has ended: what it had going up and down is no more. */
  end(): void;
};

/** Of whoever has started it, for one life of the thread. */
export function createRelay({ telemetry, write }: { readonly telemetry: Telemetry; readonly write: (line: string) => void }): Relay {
  const levels = new Map<string, { readonly name: string; readonly attributes: Attributes; value: number }>();
  return {
    take(message) {
      if (message.kind === 'log') {
        write(message.line);
        return;
      }
      const { kind, name, value, attributes } = message;
      telemetry[kind](name, value, attributes);
      if (kind !== 'adjust') return;
      const key = JSON.stringify([name, attributes]);
      const level = levels.get(key) ?? { name, attributes, value: 0 };
      levels.set(key, { ...level, value: level.value + value });
    },
    end() {
      for (const { name, attributes, value } of levels.values()) if (value !== 0) telemetry.adjust(name, -value, attributes);
      levels.clear();
    },
  };
}

import type { Attributes, Telemetry } from '../../ports/telemetry.ts';

export type Measurement = { readonly name: string; readonly value: number; readonly attributes: Attributes };
export type LogRecord = {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

export type RecordingTelemetry = Telemetry & {
  readonly counts: Measurement[];
  readonly adjustments: Measurement[];
  readonly records: Measurement[];
  readonly logs: LogRecord[];
  /** The sum of a count, or of what goes up and down, over all attributes. */
  total(name: string): number;
};

/** Keeps everything, for tests to look at. */
export function createRecordingTelemetry(): RecordingTelemetry {
  const counts: Measurement[] = [];
  const adjustments: Measurement[] = [];
  const records: Measurement[] = [];
  const logs: LogRecord[] = [];
  return {
    counts,
    adjustments,
    records,
    logs,
    total: (name) => [...counts, ...adjustments].filter((count) => count.name === name).reduce((sum, { value }) => sum + value, 0),
    count: (name, value, attributes = {}) => void counts.push({ name, value, attributes }),
    adjust: (name, value, attributes = {}) => void adjustments.push({ name, value, attributes }),
    record: (name, value, attributes = {}) => void records.push({ name, value, attributes }),
    log: (level, message, fields = {}) => void logs.push({ level, message, fields }),
  };
}

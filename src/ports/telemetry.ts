export type Attributes = Readonly<Record<string, string>>;

/** Counts and measures. Names are OpenTelemetry's, dotted; the adapter turns them into the exporter's own form. */
export type Telemetry = {
  count(name: string, value: number, attributes?: Attributes): void;
  /** Something that goes up and down, such as requests under way: by how much it did. */
  adjust(name: string, delta: number, attributes?: Attributes): void;
  /** Seconds or bytes, by the name's unit. */
  record(name: string, value: number, attributes?: Attributes): void;
  /** One structured line; never a secret, never a payload. */
  log(level: 'info' | 'warn' | 'error', message: string, fields?: Readonly<Record<string, unknown>>): void;
};

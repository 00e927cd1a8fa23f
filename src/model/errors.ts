/**
 * What a caller does about an error; the only thing code may branch on besides `code`.
 * `indefinite`: the outcome is unknown, the effect may or may not have happened.
 */
export type ErrorKind = 'invalid' | 'denied' | 'not-found' | 'conflict' | 'fenced' | 'throttled' | 'unavailable' | 'indefinite' | 'corrupt';

export type ErrorDetails = {
  /** Dotted name of the request's field at fault, such as `messages[0].key`. */
  readonly field?: string;
  /** Milliseconds after which a retry may succeed. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
  /** Members for the problem document: plain JSON, no secret, no payload. */
  readonly extra?: Readonly<Record<string, unknown>>;
};

/** Every error that Kelp raises on purpose. `code` is API (design: stable), the message is for people. */
export class KelpError extends Error {
  override readonly name = 'KelpError';
  readonly kind: ErrorKind;
  readonly code: string;
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(kind: ErrorKind, code: string, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.kind = kind;
    this.code = code;
    this.field = details.field;
    this.retryAfterMs = details.retryAfterMs;
    this.extra = details.extra ?? {};
  }
}

/** A 4xx that names the field at fault. */
export function invalid(code: string, field: string, message: string): KelpError {
  return new KelpError('invalid', code, message, { field });
}

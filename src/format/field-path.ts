import { KelpError } from '../model/errors.ts';

/**
 * The same error with `prefix` put before its field: checks name fields from where they stand (`key`), and whoever loops
 * over messages, records or batches adds the place (`messages[3]`) in its error path alone. Other errors stay as they are.
 */
export function inField(prefix: string, error: unknown): unknown {
  if (!(error instanceof KelpError)) return error;
  const inner = error.field ?? '';
  return placed(error, inner === '' || inner.startsWith('[') ? prefix + inner : `${prefix}.${inner}`, error.extra);
}

/** The same error under another field, where the request has in one place what the check knows from another. */
export function asField(field: string, error: unknown): unknown {
  return error instanceof KelpError ? placed(error, field, error.extra) : error;
}

/** The same error with the number of the line that it is in, counted from 1. */
export function inLine(line: number, error: unknown): unknown {
  return error instanceof KelpError ? placed(error, error.field, { ...error.extra, line }) : error;
}

function placed(error: KelpError, field: string | undefined, extra: KelpError['extra']): KelpError {
  return new KelpError(error.kind, error.code, error.message, {
    extra,
    cause: error.cause,
    ...(field === undefined || field === '' ? {} : { field }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

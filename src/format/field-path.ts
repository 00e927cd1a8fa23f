import { KelpError } from '../model/errors.ts';

/**
 * The same error with `prefix` put before its field: checks name fields from where they stand (`key`), and whoever loops
 * over messages, records or batches adds the place (`messages[3]`) in its error path alone. Other errors stay as they are.
 */
export function inField(prefix: string, error: unknown): unknown {
  if (!(error instanceof KelpError)) return error;
  const field = error.field === undefined || error.field === '' ? prefix : `${prefix}.${error.field}`;
  return new KelpError(error.kind, error.code, error.message, { ...detailsOf(error), field });
}

function detailsOf(error: KelpError): { extra: KelpError['extra']; cause: unknown; retryAfterMs?: number } {
  const details = { extra: error.extra, cause: error.cause };
  return error.retryAfterMs === undefined ? details : { ...details, retryAfterMs: error.retryAfterMs };
}

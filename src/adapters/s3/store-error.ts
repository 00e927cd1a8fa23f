import { KelpError } from '../../model/errors.ts';
import type { Failure } from '../signed-http/failure.ts';

const THROTTLED = new Set(['SlowDown', 'ErrTooManyRequest', 'ErrRequestBytesExceed']);
/** Named refusals that another attempt may not meet: it came too slowly to be read, or the SDK's clock was off (it corrects it). */
const TRANSIENT = new Set(['RequestTimeout', 'OperationAborted', 'RequestTimeTooSkewed']);

/** A failed call as the port's error. For a put everything but a clear 'no' is indefinite: the object may be there, or come. */
export function storeError(access: 'read' | 'put', failure: Failure): KelpError {
  const { sent, status, code, cause } = failure;
  if (code === 'NoSuchKey') return new KelpError('not-found', 'object-not-found', 'there is no such object', { cause });
  if (status === 429 || (code !== undefined && THROTTLED.has(code))) {
    return new KelpError('throttled', 'store-throttled', 'the store asks to slow down', { cause });
  }
  if (isRefusal(failure)) return new KelpError('invalid', 'store-refused', `the store refused the request: ${code}`, { cause });
  if (!sent) return new KelpError('unavailable', 'store-unavailable', 'the store could not be reached', { cause });
  if (access === 'read') return new KelpError('unavailable', 'store-unavailable', 'the store gave no whole answer', { cause });
  return new KelpError('indefinite', 'store-indefinite', 'it is unknown whether the object was stored', { cause });
}

/** A named 4xx. An unnamed one comes from somewhere on the way, which may have passed the request on. */
function isRefusal({ status, code }: Failure): boolean {
  return status !== undefined && status >= 400 && status < 500 && code !== undefined && !TRANSIENT.has(code);
}

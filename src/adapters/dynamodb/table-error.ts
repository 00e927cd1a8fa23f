import { KelpError } from '../../model/errors.ts';
import type { Failure } from '../signed-http/failure.ts';

const THROTTLED = new Set(['ThrottlingException', 'ProvisionedThroughputExceededException', 'RequestLimitExceeded']);
const CONFLICT = new Set(['TransactionConflictException', 'TransactionInProgressException', 'ReplicatedWriteConflictException']);

/** A failed call as the port's error. For a write everything but a clear 'no' is indefinite: it may have been applied. */
export function tableError(access: 'read' | 'write', { sent, status, code, cause }: Failure): KelpError {
  if (status === 429 || (code !== undefined && THROTTLED.has(code)))
    return new KelpError('throttled', 'table-throttled', 'the table throttles', { cause });
  if (code !== undefined && CONFLICT.has(code))
    return new KelpError('conflict', 'table-conflict', 'another write of the item was under way', { cause });
  if (code !== undefined && status !== undefined && status >= 400 && status < 500) {
    return new KelpError('invalid', 'table-refused', `the table refused the request: ${code}`, { cause });
  }
  if (!sent) return new KelpError('unavailable', 'table-unavailable', 'the table could not be reached', { cause });
  if (access === 'read') return new KelpError('unavailable', 'table-unavailable', 'the table gave no answer', { cause });
  return new KelpError('indefinite', 'table-indefinite', 'it is unknown whether the write was applied', { cause });
}

/** A call that its caller gave up. Only a write that was sent can have had an effect. */
export function abortedCall(access: 'read' | 'write', sent: boolean, signal: AbortSignal): unknown {
  if (access === 'read' || !sent) return signal.reason;
  return new KelpError('indefinite', 'table-indefinite', 'the write was given up before its answer', { cause: signal.reason });
}

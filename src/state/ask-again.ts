import { type ErrorKind, KelpError } from '../model/errors.ts';
import { THROTTLED_WRITE_ATTEMPTS_MAX, WRITE_ATTEMPTS_MAX } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { WriteResult } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { backoff } from './retry.ts';

/**
 * Asks a conditional write again until it is answered. Only for writes that find their own effect: applied by a lost
 * attempt, the next one is refused, and the item that comes back shows what stands there.
 */
export async function askAgain(
  deps: { readonly clock: Clock; readonly random: Random },
  write: () => Promise<WriteResult>,
  signal: AbortSignal,
): Promise<WriteResult> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isTransient(error) || signal.aborted || attempt >= WRITE_ATTEMPTS_MAX) throw error;
    }
    await backoff(deps, attempt, signal);
  }
}

/**
 * The same of a write that relieves an item of which the table has too many: whoever else writes it waits longer after each
 * refusal. This one does not, or it would hardly ever come through among them.
 */
export async function askThroughThrottling(
  deps: { readonly clock: Clock; readonly random: Random },
  write: () => Promise<WriteResult>,
  signal: AbortSignal,
): Promise<WriteResult> {
  let failed = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isThrottled(error)) failed += 1;
      const isOver = attempt >= THROTTLED_WRITE_ATTEMPTS_MAX || failed >= WRITE_ATTEMPTS_MAX;
      if (!isTransient(error) || signal.aborted || isOver) throw error;
    }
    await backoff(deps, 1 + failed, signal);
  }
}

const isThrottled = (error: unknown): boolean => error instanceof KelpError && error.kind === 'throttled';

/** Surely not applied, or unanswered. Of conflicts that is the table's own alone: any other one says what stands in the way. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof KelpError)) return false;
  return error.kind === 'conflict' ? error.code === 'table-conflict' : TRANSIENT.has(error.kind);
}

const TRANSIENT: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['throttled', 'unavailable', 'indefinite']);

import { encodeBatchObjectHeader } from '../format/batch-object.ts';
import { batchObjectKey } from '../format/object-key.ts';
import { KelpError } from '../model/errors.ts';
import type { ObjectRef } from '../model/head.ts';
import { type Minute, minuteOf, type ObjectId, type SegmentId, type TopicId } from '../model/ids.ts';
import { PUT_ATTEMPTS_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Clock } from '../ports/clock.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Random } from '../ports/random.ts';
import { throwCallersEnd } from '../state/callers-end.ts';
import { backoffUnlessAborted } from '../state/retry.ts';

export type WriteDeps = { readonly store: ObjectStore; readonly clock: Clock; readonly random: Random };

const OBJECT_ID_RANDOM = 15;

/** The highest of a wall clock's minute and the floors seen: a slow clock must not make objects that can't be committed. */
export function objectMinute(nowMs: number, floors: readonly (Minute | '')[]): Minute {
  return floors.reduce<Minute>((highest, floor) => (floor !== '' && floor > highest ? floor : highest), minuteOf(nowMs));
}

/**
 * Stores a group's object. Each attempt has a key of its own: nothing is ever overwritten, and what an unanswered PUT
 * leaves behind is named by no head and goes with the garbage. Error `unavailable`: surely not committed.
 */
export async function writeObject(
  deps: WriteDeps,
  object: {
    readonly topic: TopicId;
    readonly segments: readonly SegmentId[];
    readonly body: readonly Bytes[];
    readonly floors: readonly (Minute | '')[];
    /** That of its attempt, where this was decided before. */
    readonly minute?: Minute | undefined;
  },
  signal: AbortSignal,
): Promise<ObjectRef> {
  const header = encodeBatchObjectHeader({ topic: object.topic, segments: object.segments });
  let cause: unknown;
  for (let attempt = 1; attempt <= PUT_ATTEMPTS_MAX && !signal.aborted; attempt += 1) {
    const id = `o${deps.random.base36(OBJECT_ID_RANDOM)}` as ObjectId;
    const minute = object.minute ?? objectMinute(deps.clock.nowMs(), object.floors);
    try {
      await deps.store.put(batchObjectKey(object.topic, minute, id), [header, ...object.body], signal);
      return { minute, id };
    } catch (error) {
      if (error instanceof KelpError && error.kind === 'invalid') throw error;
      if (signal.aborted) break;
      cause = error;
      await backoffUnlessAborted(deps, attempt, signal);
    }
  }
  if (cause === undefined) throwCallersEnd(signal);
  throw new KelpError('unavailable', 'unavailable', 'the object store does not take the messages', { cause, retryAfterMs: 1_000 });
}

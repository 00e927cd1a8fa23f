import { batchObjectKey, batchObjectPrefix, parseBatchObjectKey } from '../format/object-key.ts';
import type { ObjectRef } from '../model/head.ts';
import { type Minute, minuteOf, minuteStartMs, type ObjectId } from '../model/ids.ts';
import { GARBAGE_OBJECTS_MAX } from '../model/garbage-limits.ts';
import { CLEANUP_PAGE_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { GarbageDeps } from './topic-work.ts';

/** Before all ids. */
const FIRST = 'o' as ObjectId;

/** As it stands in entries. */
export type ObjectName = `${Minute}/${ObjectId}`;
export const objectName = ({ minute, id }: ObjectRef): ObjectName => `${minute}/${id}`;

/** With the bytes that each of them has. */
export type OldObjects = Map<ObjectName, number>;

type Place = { readonly topic: Topic; readonly minute: Minute };
/** Keys behind `after`, up to `to`. */
type Stretch = { readonly after?: string; readonly to?: string };

/**
 * Batch objects of the topic of that minute or an earlier one, at most GARBAGE_OBJECTS_MAX at a time. What is beyond the first of these pieces is
 * gone through from anywhere on, so that what one sweep has no time for is not what the next one has none for.
 */
export async function* oldObjects(deps: GarbageDeps, place: Place, signal: AbortSignal): AsyncGenerator<OldObjects, void, undefined> {
  const front = await readPiece(deps, place, {}, signal);
  yield front.objects;
  if (front.next === undefined) return;
  const start = startAnywhere(deps, place, front.next);
  for (const stretch of [{ after: start }, { after: front.next, to: start }]) {
    for (let after: string | undefined = stretch.after; after !== undefined;) {
      const { objects, next } = await readPiece(deps, place, { ...stretch, after }, signal);
      yield objects;
      after = next;
    }
  }
}

/** Behind `after`, somewhere in the topic's life. */
function startAnywhere({ random }: GarbageDeps, { topic, minute }: Place, after: string): string {
  const beganMs = topic.createdMs;
  const spanMs = Math.max(0, minuteStartMs(minute) - beganMs);
  const somewhere = batchObjectKey(topic.id, minuteOf(beganMs + random.fraction() * spanMs), FIRST);
  return somewhere > after ? somewhere : after;
}

async function readPiece(
  { store }: GarbageDeps,
  { topic, minute }: Place,
  { after: begin, to }: Stretch,
  signal: AbortSignal,
): Promise<{ readonly objects: OldObjects; readonly next: string | undefined }> {
  const objects: OldObjects = new Map();
  let after = begin;
  do {
    const bounds = { ...(after === undefined ? {} : { after }), limit: CLEANUP_PAGE_MAX };
    // G3: all minutes below the floor: a PUT that was paused may bring back a key of any of them.
    const page = await store.list(batchObjectPrefix(topic.id), bounds, signal);
    for (const { key, bytes } of page.objects) {
      const object = parseBatchObjectKey(key);
      if (object !== undefined && object.minute > minute) return { objects, next: undefined };
      if (to !== undefined && key > to) return { objects, next: undefined };
      if (object !== undefined) objects.set(objectName(object), bytes);
    }
    after = page.next;
  } while (after !== undefined && objects.size < GARBAGE_OBJECTS_MAX);
  return { objects, next: after };
}

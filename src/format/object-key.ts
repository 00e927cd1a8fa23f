import type { Minute, ObjectId, TopicId } from '../model/ids.ts';

// The one file that makes object names. Parts have fixed widths and `[0-9a-z]` only: the store lists in the order of a
// directory tree, which equals byte order for such names alone. Ids, never names that a user chose.

const BATCH_OBJECTS = 'log';
const BATCH_OBJECT_KEY = /^log\/([a-z][0-9a-z]{15})\/([0-9]{8})\/([a-z][0-9a-z]{15})$/;

/** Where the batches of one flush of a topic are. The minute lets a sweeper tell old objects from their names alone. */
export const batchObjectKey = (topic: TopicId, minute: Minute, id: ObjectId): string => `${batchObjectPrefix(topic)}${minute}/${id}`;

/** Of all batch objects of a topic; they are listed by minute. */
export const batchObjectPrefix = (topic: TopicId): string => `${BATCH_OBJECTS}/${topic}/`;

export type BatchObjectName = { readonly topic: TopicId; readonly minute: Minute; readonly id: ObjectId };

/** Undefined: not the name of a batch object. */
export function parseBatchObjectKey(key: string): BatchObjectName | undefined {
  const [, topic, minute, id] = BATCH_OBJECT_KEY.exec(key) ?? [];
  if (topic === undefined || minute === undefined || id === undefined) return undefined;
  return { topic: topic as TopicId, minute: minute as Minute, id: id as ObjectId };
}

/** Written, read and deleted by a broker that asks itself whether it is ready. */
export const probeObjectKey = (id: string): string => `probe/${id}`;

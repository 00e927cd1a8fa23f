import type { ArchivedFile, UtcDate } from '../model/archived-file.ts';
import type { ObjectRef } from '../model/head.ts';
import { isUploadId, type Minute, type ObjectId, type SegmentId, type TopicId, type UploadId } from '../model/ids.ts';

// The one file that makes object names. Parts have fixed widths and `[0-9a-z]` only: the store lists in the order of a
// directory tree, which equals byte order for such names alone. Ids, never names that a user chose, but for archived files: people
// look for these, and each topic's lie in a folder of their own, below which all widths are fixed.

const BATCH_OBJECTS = 'log';
const UPLOADS = 'uploads';
const ARCHIVED_FILES = 'topics';
const OFFSET_DIGITS = 16;
const ARCHIVED_FILE_KEY =
  /^topics\/([a-z0-9][a-z0-9._-]{0,127})\.([a-z][0-9a-z]{15})\/kelp_date=(\d{4}-\d{2}-\d{2})\/kelp_segment=(s[0-9a-z]{7})\/(\d{16})-(\d{16})\.parquet$/;
const UPLOAD_OBJECT_KEY = /^uploads\/([a-z][0-9a-z]{15})\/(u[0-9a-z]{15})$/;
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

/** Where an entry's batches are: in a batch object, or in what a client has uploaded. Their ids begin with different letters. */
export const entryObjectKey = (topic: TopicId, { minute, id }: ObjectRef): string =>
  isUploadId(id) ? uploadObjectKey(topic, id) : batchObjectKey(topic, minute, id);

/** An entry's object that a client has uploaded; undefined: a broker has written it. */
export const uploadOf = ({ id }: ObjectRef): UploadId | undefined => (isUploadId(id) ? id : undefined);

/** How an uploaded object stands in an entry, for an attempt of that minute. */
export const uploadObjectRef = (upload: UploadId, minute: Minute): ObjectRef => ({ minute, id: upload as string as ObjectId });

export const uploadObjectKey = (topic: TopicId, upload: UploadId): string => `${uploadObjectsPrefix(topic)}${upload}`;
/** Of all uploads of a topic; they are listed in the order in which they expire. */
export const uploadObjectsPrefix = (topic: TopicId): string => `${UPLOADS}/${topic}/`;

/** The upload whose object has this key; undefined: not the name of one. */
export function parseUploadObjectKey(key: string): { readonly topic: TopicId; readonly upload: UploadId } | undefined {
  const [, topic, upload] = UPLOAD_OBJECT_KEY.exec(key) ?? [];
  if (topic === undefined || upload === undefined) return undefined;
  return { topic: topic as TopicId, upload: upload as UploadId };
}

/** Of all archived files of a topic; they are listed by date, segment and offset. */
export const archivedFilesPrefix = (name: string, topic: TopicId): string => `${ARCHIVED_FILES}/${name}.${topic}/`;

/** Where a file of a topic of that name is. Readers take folders of the form `column=value` for columns. */
export const archivedFileKey = (name: string, { topic, segment, date, first, last }: ArchivedFile): string =>
  `${archivedFilesPrefix(name, topic)}kelp_date=${date}/kelp_segment=${segment}/${offsetDigits(first)}-${offsetDigits(last)}.parquet`;

const offsetDigits = (offset: number): string => String(offset).padStart(OFFSET_DIGITS, '0');

/** Undefined: not the name of an archived file. */
export function parseArchivedFileKey(key: string): (ArchivedFile & { readonly name: string }) | undefined {
  const [, name, topic, date, segment, first, last] = ARCHIVED_FILE_KEY.exec(key) ?? [];
  if (name === undefined) return undefined;
  return { name, topic: topic as TopicId, segment: segment as SegmentId, date: date as UtcDate, first: Number(first), last: Number(last) };
}

/** Written, read and deleted by a broker that asks itself whether it is ready. */
export const probeObjectKey = (id: string): string => `probe/${id}`;

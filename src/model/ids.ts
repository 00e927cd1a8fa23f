declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** 16 characters `[a-z][0-9a-z]{15}`, random; a topic made again under the same name has another one. */
export type TopicId = Brand<string, 'TopicId'>;
/** 8 characters: `s` and a 7-digit base-36 counter of the topic's name, never used again. */
export type SegmentId = Brand<string, 'SegmentId'>;
/** 16 characters `[a-z][0-9a-z]{15}`, random. */
export type ObjectId = Brand<string, 'ObjectId'>;
/**
 * Commit id, 22 characters `[0-9a-z]`: time (9, base-36 milliseconds), the instance's random part (8), counter (5).
 * Fixed width, so byte order is time order. `''` sorts before every commit id.
 */
export type CommitId = Brand<string, 'CommitId'>;
/** 1 to 32 characters `[a-z0-9-]`, the first no hyphen: a broker's name, the same after a restart. */
export type BrokerId = Brand<string, 'BrokerId'>;
/** 16 characters: `u`, the minute in which it expires (6, base 36), and 9 random ones. So text order is the order of expiry. */
export type UploadId = Brand<string, 'UploadId'>;
/** Minutes since 1970 in 8 decimal digits: part of an object's key, compared with a head's floor. `''` is the lowest. */
export type Minute = Brand<string, 'Minute'>;

const TOPIC_ID = /^[a-z][0-9a-z]{15}$/;
const SEGMENT_ID = /^s[0-9a-z]{7}$/;
const UPLOAD_ID = /^u[0-9a-z]{15}$/;
const BROKER_ID = /^[a-z0-9][a-z0-9-]{0,31}$/;
const TOPIC_NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
const MINUTE_MS = 60_000;
const UPLOAD_MINUTE_CHARACTERS = 6;
/** Random characters of an upload's id. */
export const UPLOAD_ID_RANDOM = 9;

export const isTopicId = (text: string): text is TopicId => TOPIC_ID.test(text);
export const isSegmentId = (text: string): text is SegmentId => SEGMENT_ID.test(text);
export const isUploadId = (text: string): text is UploadId => UPLOAD_ID.test(text);
export const isBrokerId = (text: string): text is BrokerId => BROKER_ID.test(text);
export const isTopicName = (text: string): boolean => TOPIC_NAME.test(text);

/** The id of the topic name's `n`th segment, counted from 0. */
export function segmentId(n: number): SegmentId {
  return `s${n.toString(36).padStart(7, '0')}` as SegmentId;
}

/** Inverse of {@link segmentId}. */
export function segmentNumber(id: SegmentId): number {
  return Number.parseInt(id.slice(1), 36);
}

/** The minute of a wall-clock time in milliseconds. */
export function minuteOf(timeMs: number): Minute {
  return String(Math.floor(timeMs / MINUTE_MS)).padStart(8, '0') as Minute;
}

/** When it begins. */
export const minuteStartMs = (minute: Minute): number => Number(minute) * MINUTE_MS;

export const minuteAfter = (minute: Minute): Minute => minuteOf(minuteStartMs(minute) + MINUTE_MS);

/** The last one that was over by then. */
export const minuteEndedBy = (timeMs: number): Minute => minuteOf(Math.max(0, timeMs - MINUTE_MS));

/** The id of an upload that expires then, with {@link UPLOAD_ID_RANDOM} random characters. */
export function uploadId(expiresMs: number, random: string): UploadId {
  return `u${Math.floor(expiresMs / MINUTE_MS)
    .toString(36)
    .padStart(UPLOAD_MINUTE_CHARACTERS, '0')}${random}` as UploadId;
}

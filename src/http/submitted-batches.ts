import {
  firstElement,
  firstMember,
  forEachMember,
  type JsonReader,
  memberField,
  nameText,
  nextElement,
  nextKind,
  readDigits,
  readJson,
  readString,
} from '../format/json-reader.ts';
import { inField } from '../format/field-path.ts';
import { readUploadId } from '../format/message-json.ts';
import { BATCH_HEADER_BYTES } from '../format/record-batch-header.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { isSegmentId, type SegmentId, type UploadId } from '../model/ids.ts';
import { PARTITIONS, REQUEST_BYTES_MAX, REQUEST_MESSAGES_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import { UPLOAD_BATCHES_BYTES_MAX, UPLOAD_BATCHES_MAX, UPLOAD_MESSAGES_MAX } from '../model/upload-limits.ts';
import type { DeclaredBatch } from '../model/upload.ts';
import { readMembers } from './json-members.ts';

/** An upload that is to be committed as it is, and what its sender says of it. */
export type SubmittedBatches = {
  readonly upload: UploadId;
  readonly segment: SegmentId;
  readonly batches: readonly DeclaredBatch[];
};

const MEMBERS = ['batch', 'segment', 'batches'] as const;
const NUMBERS = {
  offset: { min: 0, max: UPLOAD_BATCHES_BYTES_MAX },
  bytes: { min: BATCH_HEADER_BYTES, max: REQUEST_BYTES_MAX },
  count: { min: 1, max: REQUEST_MESSAGES_MAX },
  crc: { min: 0, max: 0xffff_ffff },
} as const;
type NumberName = keyof typeof NUMBERS;

const text = new TextDecoder();
const wrong = (field: string, message: string): KelpError => invalid('invalid-batches', field, message);

/** Whether a body of JSON is such a thing, by the first name in it. */
export function isSubmittedBatches(body: Bytes): boolean {
  const reader = readJson(body);
  return nextKind(reader) === 'object' && firstMember(reader) && MEMBERS.some((name) => name === nameText(reader));
}

/**
 * `{"batch": id, "segment": id, "batches": [{"offset", "bytes", "count", "crc", "partitions"}…]}`. Errors `invalid-json`,
 * `invalid-request` (unknown members), `invalid-upload`, `invalid-segment`, `invalid-batches`.
 */
export function parseSubmittedBatches(body: Bytes): SubmittedBatches {
  const reader = readJson(body);
  let upload: UploadId | undefined;
  let segment: SegmentId | undefined;
  let batches: readonly DeclaredBatch[] | undefined;
  const members = new Map([
    ['batch', () => void (upload = readUploadId(reader, 'batch'))],
    ['segment', () => void (segment = readSegment(reader))],
    ['batches', () => void (batches = readBatches(reader))],
  ]);
  readMembers(reader, members);
  if (upload === undefined) throw invalid('invalid-upload', 'batch', 'the upload that holds the batches is missing');
  if (segment === undefined) throw invalid('invalid-segment', 'segment', 'the segment of all keys is missing');
  if (batches === undefined) throw wrong('batches', 'the list of batches is missing');
  return { upload, segment, batches };
}

function readSegment(reader: JsonReader): SegmentId {
  const id = nextKind(reader) === 'string' ? text.decode(readString(reader)) : '';
  if (!isSegmentId(id)) throw invalid('invalid-segment', 'segment', 'a segment id is s and seven of 0-9 a-z');
  return id;
}

function readBatches(reader: JsonReader): readonly DeclaredBatch[] {
  if (nextKind(reader) !== 'array') throw wrong('batches', 'batches are a list');
  const batches: DeclaredBatch[] = [];
  let messages = 0;
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    if (batches.length >= UPLOAD_BATCHES_MAX) throw wrong('batches', `an upload has at most ${UPLOAD_BATCHES_MAX} batches`);
    try {
      const batch = readBatch(reader, UPLOAD_MESSAGES_MAX - messages);
      messages += batch.count;
      batches.push(batch);
    } catch (error) {
      throw inField(`batches[${batches.length}]`, error);
    }
  }
  if (batches.length === 0) throw wrong('batches', 'an upload has at least one batch');
  return batches;
}

function readBatch(reader: JsonReader, messagesLeft: number): DeclaredBatch {
  if (nextKind(reader) !== 'object') throw wrong('', 'a batch is an object');
  const numbers = new Map<NumberName, number>();
  let partitions: readonly number[] | undefined;
  forEachMember(reader, (name) => {
    if (name === 'partitions') partitions = readPartitions(reader, messagesLeft);
    else if (isNumberName(name)) numbers.set(name, readNumber(reader, name));
    else throw wrong(memberField(reader), `no such member; there is ${Object.keys(NUMBERS).join(', ')} and partitions`);
  });
  const count = numberIn(numbers, 'count');
  if (partitions?.length !== count) throw wrong('partitions', 'one for each record');
  return { start: numberIn(numbers, 'offset'), bytes: numberIn(numbers, 'bytes'), count, crc: numberIn(numbers, 'crc'), partitions };
}

const isNumberName = (name: string): name is NumberName => Object.hasOwn(NUMBERS, name);

function readNumber(reader: JsonReader, name: NumberName): number {
  const { min, max } = NUMBERS[name];
  const value = readDigits(reader, max);
  if (value === undefined || value < min) throw wrong(name, `an integer from ${min} to ${max}`);
  return value;
}

function numberIn(numbers: ReadonlyMap<NumberName, number>, name: NumberName): number {
  const value = numbers.get(name);
  if (value === undefined) throw wrong(name, 'is missing');
  return value;
}

function readPartitions(reader: JsonReader, messagesLeft: number): readonly number[] {
  if (nextKind(reader) !== 'array') throw wrong('partitions', 'partitions are a list');
  const partitions: number[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    if (partitions.length >= REQUEST_MESSAGES_MAX) throw wrong('partitions', `a batch has at most ${REQUEST_MESSAGES_MAX} records`);
    if (partitions.length >= messagesLeft) throw wrong('partitions', `all batches have at most ${UPLOAD_MESSAGES_MAX} records`);
    const partition = readDigits(reader, PARTITIONS - 1);
    if (partition === undefined) throw wrong(`partitions[${partitions.length}]`, `an integer from 0 to ${PARTITIONS - 1}`);
    partitions.push(partition);
  }
  return partitions;
}

import type { CommitId, Minute } from '../model/ids.ts';
import { type Range, type SegmentRange, TENANT_DEFAULT } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, checkVersion, integerField, listField, stringField } from './item-fields.ts';
import { decodeSegmentRange, encodeSegmentRange } from './segment-range.ts';

const IDEMPOTENCY_VERSION = 1;
const SECOND_MS = 1_000;

/** One segment's part of a request: the one attempt that may land, and where it did. */
export type RecordedPart = {
  /** The segment, and all of its range. */
  readonly range: SegmentRange;
  /** Which of the request's messages are in this part; no two parts share any, though after a merge they may share a segment. */
  readonly partitions: Range;
  readonly cid: CommitId;
  /** The segment's tail before the first send under this id. */
  readonly tail: number;
  /** Of every object that this attempt may commit: a head's floor above it ends the attempt. Absent: any. */
  readonly minute?: Minute;
  /** First offset, once that is known. */
  readonly offset?: number;
  /** Refused for good, and never stored: the segment's tail was this, and not the expected one. */
  readonly refusedAtTail?: number;
};

/** What is kept of a request with an Idempotency-Key. */
export type IdempotencyRecord = {
  readonly requestHash: string;
  /** Raised by every write; each write demands the one that it read. */
  readonly version: number;
  readonly parts: readonly RecordedPart[];
  readonly expiresMs: number;
};

export function encodeIdempotency(record: IdempotencyRecord): Item {
  return {
    v: IDEMPOTENCY_VERSION,
    tenant: TENANT_DEFAULT,
    hash: record.requestHash,
    version: record.version,
    parts: record.parts.map(encodePart),
    expires: record.expiresMs,
    // Tidies only: expiry is checked when the item is read.
    ttl: Math.ceil(record.expiresMs / SECOND_MS),
  };
}

function encodePart(part: RecordedPart): Item {
  return {
    ...encodeSegmentRange(part.range),
    from: part.partitions.lo,
    to: part.partitions.hi,
    i: part.cid,
    tail: part.tail,
    ...(part.minute === undefined ? {} : { m: part.minute }),
    ...(part.offset === undefined ? {} : { offset: part.offset }),
    ...(part.refusedAtTail === undefined ? {} : { refused: part.refusedAtTail }),
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeIdempotency(item: Item): IdempotencyRecord {
  checkVersion(item, IDEMPOTENCY_VERSION);
  return {
    requestHash: stringField(item, 'hash'),
    version: integerField(item, 'version'),
    parts: listField(item, 'parts').map(decodePart),
    expiresMs: integerField(item, 'expires'),
  };
}

function decodePart(value: Value): RecordedPart {
  const item = asItem(value, 'parts');
  return {
    range: decodeSegmentRange(item),
    partitions: { lo: integerField(item, 'from'), hi: integerField(item, 'to') },
    cid: stringField(item, 'i') as CommitId,
    tail: integerField(item, 'tail'),
    ...(item['m'] === undefined ? {} : { minute: stringField(item, 'm') as Minute }),
    ...(item['offset'] === undefined ? {} : { offset: integerField(item, 'offset') }),
    ...(item['refused'] === undefined ? {} : { refusedAtTail: integerField(item, 'refused') }),
  };
}

import type { CommitId, Minute, SegmentId, UploadId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import { type Quarantined, type Upload, UPLOAD_STATES, type UploadAttempt } from '../model/upload.ts';
import type { Item } from '../ports/metadata-table.ts';
import { decodeRuns, encodeRuns } from './entry.ts';
import { checkVersion, flagField, integerField, integersField, mapField, stringField, wordField } from './item-fields.ts';

const UPLOAD_VERSION = 1;
const SWEPT_VERSION = 1;

export function encodeUpload(upload: Upload): Item {
  return {
    v: UPLOAD_VERSION,
    tenant: TENANT_DEFAULT,
    upload: upload.upload,
    bytes: upload.bytes,
    sha256: upload.sha256,
    type: upload.contentType,
    state: upload.state,
    version: upload.version,
    created: upload.createdMs,
    expires: upload.expiresMs,
    ...(upload.attempt === undefined ? {} : { attempt: encodeAttempt(upload.attempt) }),
    ...(upload.runs === undefined ? {} : { runs: encodeRuns(upload.runs) }),
    ...(upload.offset === undefined ? {} : { offset: upload.offset }),
    ...(upload.checked ? { checked: true } : {}),
    ...(upload.quarantined.length === 0 ? {} : { bad: upload.quarantined.flatMap(({ first, count }) => [first, count]) }),
  };
}

function encodeAttempt(attempt: UploadAttempt): Item {
  const { segment, cid, tail, minute, owner, recordVersion, delta } = attempt;
  return { s: segment, i: cid, tail, m: minute, w: owner, n: recordVersion, d: delta };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeUpload(item: Item): Upload {
  checkVersion(item, UPLOAD_VERSION);
  return {
    upload: stringField(item, 'upload') as UploadId,
    bytes: integerField(item, 'bytes'),
    sha256: stringField(item, 'sha256'),
    contentType: stringField(item, 'type'),
    state: wordField(item, 'state', UPLOAD_STATES),
    version: integerField(item, 'version'),
    createdMs: integerField(item, 'created'),
    expiresMs: integerField(item, 'expires'),
    ...(item['attempt'] === undefined ? {} : { attempt: decodeAttempt(mapField(item, 'attempt')) }),
    ...(item['runs'] === undefined ? {} : { runs: decodeRuns(integersField(item, 'runs')) }),
    ...(item['offset'] === undefined ? {} : { offset: integerField(item, 'offset') }),
    checked: flagField(item, 'checked'),
    quarantined: item['bad'] === undefined ? [] : decodeQuarantined(integersField(item, 'bad')),
  };
}

function decodeAttempt(item: Item): UploadAttempt {
  return {
    segment: stringField(item, 's') as SegmentId,
    cid: stringField(item, 'i') as CommitId,
    tail: integerField(item, 'tail'),
    minute: stringField(item, 'm') as Minute,
    owner: stringField(item, 'w'),
    recordVersion: integerField(item, 'n'),
    delta: integerField(item, 'd'),
  };
}

function decodeQuarantined(numbers: readonly number[]): Quarantined[] {
  return Array.from({ length: Math.ceil(numbers.length / 2) }, (_, index) => ({
    first: numbers[2 * index] ?? 0,
    count: numbers[2 * index + 1] ?? 0,
  }));
}

/** How far a topic's uploads were swept: all of them up to this one are settled. */
export const encodeSweptUploads = (through: UploadId): Item => ({ v: SWEPT_VERSION, tenant: TENANT_DEFAULT, through });

export function decodeSweptUploads(item: Item): UploadId {
  checkVersion(item, SWEPT_VERSION);
  return stringField(item, 'through') as UploadId;
}

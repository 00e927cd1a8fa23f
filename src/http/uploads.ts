import { isContentType } from '../format/content-type.ts';
import { type JsonReader, nextKind, readDigits, readJson, readString } from '../format/json-reader.ts';
import { isSha256 } from '../format/reference.ts';
import { asField } from '../format/field-path.ts';
import { invalid, type KelpError } from '../model/errors.ts';
import { isUploadId, type UploadId } from '../model/ids.ts';
import { CONTROL_REQUEST_BYTES_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import { UPLOAD_BYTES_MAX, UPLOAD_TYPE_BYTES_MAX } from '../model/upload-limits.ts';
import type { Upload, UploadContent } from '../model/upload.ts';
import type { References } from '../reference/references.ts';
import { jsonText, okJson } from './answer.ts';
import type { Call, Handler } from './call.ts';
import type { AppDependencies, TopicsDependencies, UploadsDependencies } from './dependencies.ts';
import { readMembers } from './json-members.ts';
import { JSON_MEDIA, negotiate, requireJson } from './media-type.ts';
import { bodyOf } from './publish-body.ts';
import { parseQuery } from './query.ts';
import { STALE_FOR_UPLOADS, topicNameOf, withTopic } from './with-topic.ts';

type UploadingDependencies = AppDependencies & Pick<TopicsDependencies, 'topics'> & UploadsDependencies;

const TYPE_DEFAULT = 'application/octet-stream';
const text = new TextDecoder();

/** What is large is sent to the object store itself, by a URL that is good for these bytes alone. */
export function createCreateUpload(deps: UploadingDependencies): Handler {
  const { topics, uploads } = deps;
  return async (call) => {
    topicNameOf(call);
    requireJson(call.context.req.header('content-type'));
    const content = parseUpload(await bodyOf(deps, call, CONTROL_REQUEST_BYTES_MAX));
    const { upload, request } = await withTopic(call, { topics, stale: STALE_FOR_UPLOADS }, (topic) =>
      uploads.create(topic, content, call.signal),
    );
    const { url, method, headers } = request;
    return jsonText(201, JSON.stringify({ upload: upload.upload, url, method, headers, expiresAt: textOf(upload.expiresMs) }));
  };
}

export function createGetUpload({ topics, uploads, references }: UploadingDependencies): Handler {
  return async (call) => {
    topicNameOf(call);
    const id = uploadIdOf(call);
    negotiate(call.context, [JSON_MEDIA]);
    parseQuery(call.context.req.url, []);
    return withTopic(call, { topics, stale: STALE_FOR_UPLOADS }, async (topic) => {
      const upload = await uploads.describe(topic, id, call.signal).catch((error: unknown) => {
        throw asField('upload', error);
      });
      return okJson(documentOf(topic, upload, references));
    });
  };
}

function uploadIdOf({ context }: Call): UploadId {
  const id = context.req.param('upload') ?? '';
  if (!isUploadId(id)) throw invalid('invalid-upload', 'upload', 'an upload id is u and 15 of 0-9 a-z');
  return id;
}

/**
 * `{"bytes": n, "sha256": text, "contentType": text}`. Errors `invalid-json`, `invalid-request`, `invalid-bytes`,
 * `invalid-sha256`, `invalid-content-type`.
 */
function parseUpload(body: Bytes): UploadContent {
  const reader = readJson(body);
  let bytes: number | undefined;
  let sha256: string | undefined;
  let contentType = TYPE_DEFAULT;
  const members = new Map([
    ['bytes', () => void (bytes = readBytes(reader))],
    ['sha256', () => void (sha256 = readSha256(reader))],
    ['contentType', () => void (contentType = readContentType(reader))],
  ]);
  readMembers(reader, members);
  if (bytes === undefined) throw noBytes();
  if (sha256 === undefined) throw noSha256();
  return { bytes, sha256, contentType };
}

const noBytes = (): KelpError => invalid('invalid-bytes', 'bytes', `an integer from 0 to ${UPLOAD_BYTES_MAX}`);
const noSha256 = (): KelpError => invalid('invalid-sha256', 'sha256', '64 characters 0-9 a-f');

function readBytes(reader: JsonReader): number {
  const bytes = readDigits(reader, UPLOAD_BYTES_MAX);
  if (bytes === undefined) throw noBytes();
  return bytes;
}

function readSha256(reader: JsonReader): string {
  const sha256 = readText(reader);
  if (sha256 === undefined || !isSha256(sha256)) throw noSha256();
  return sha256;
}

function readContentType(reader: JsonReader): string {
  const type = readText(reader);
  if (type !== undefined && isContentType(type)) return type;
  const message = `type/subtype and parameters, in at most ${UPLOAD_TYPE_BYTES_MAX} characters of printable ASCII`;
  throw invalid('invalid-content-type', 'contentType', message);
}

const readText = (reader: JsonReader): string | undefined => (nextKind(reader) === 'string' ? text.decode(readString(reader)) : undefined);

/** Member by member: an item has more in it than is promised. */
function documentOf(topic: Topic, upload: Upload, references: References): Record<string, unknown> {
  const { upload: id, state, bytes, sha256, contentType, expiresMs } = upload;
  const members = { upload: id, state, bytes, sha256, contentType, expiresAt: textOf(expiresMs) };
  if (state !== 'submitted') return members;
  const { attempt, offset = 0, quarantined } = upload;
  return {
    ...members,
    segment: attempt?.segment,
    offset,
    ...(quarantined.length === 0 ? {} : { quarantined: quarantined.map(({ first, count }) => ({ offset: offset + first, count })) }),
    reference: { upload: id, bytes, sha256, contentType, url: references.url(topic.id, id) },
  };
}

const textOf = (timeMs: number): string => new Date(timeMs).toISOString();

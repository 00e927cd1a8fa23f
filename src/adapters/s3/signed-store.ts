import { STORE_ANSWER_BYTES_MAX } from '../../model/limits.ts';
import type { Bytes } from '../../model/message.ts';
import type { ObjectHead, ObjectStore } from '../../ports/object-store.ts';
import type { Answer } from '../signed-http/exchange.ts';
import { ExchangeFailure, type Failure } from '../signed-http/failure.ts';
import { percentEncode, percentEncodePath, UNSIGNED_BODY } from '../signed-http/signature.ts';
import { type Connecting, createSignedExchange } from '../signed-http/signed-exchange.ts';
import { checkKey } from './check-key.ts';
import { byteRange, checkContentRange } from './content-range.ts';
import { parseErrorCode, parseListAnswer } from './list-answer.ts';
import { parseObjectHead } from './object-head.ts';
import { storeError } from './store-error.ts';
import type { StoreSettings } from './store-settings.ts';

type CallRequest = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the service's own names, whose values the signature must cover. */
  readonly amzHeaders?: Readonly<Record<string, string>>;
  readonly body?: readonly Bytes[];
  readonly answerBytesMax?: number;
};
type Call = (request: CallRequest, signal: AbortSignal) => Promise<Answer>;

const OK = 200;
const NO_CONTENT = 204;
const PARTIAL = 206;
/** A HEAD's answer has no body that could name what is missing: a missing bucket looks the same. */
const NOT_FOUND = 404;
const BEYOND_END = 416;

/** The port over plain signed requests, over connections of any kind. */
export function createSignedStore(settings: StoreSettings & Connecting): ObjectStore {
  const call = createCall(settings);
  return {
    async put(key, body, signal) {
      checkKey(key);
      const answer = await call({ method: 'PUT', key, body }, signal);
      if (answer.status !== OK) throw storeError('put', failureOf(answer));
    },
    async getRange(key, start, length, signal) {
      checkKey(key);
      const headers = { range: byteRange(start, length) };
      const answer = await call({ method: 'GET', key, headers, answerBytesMax: Math.max(length, STORE_ANSWER_BYTES_MAX) }, signal);
      if (answer.status === BEYOND_END) return new Uint8Array(0);
      if (answer.status !== PARTIAL) throw storeError('read', failureOf(answer));
      return understood(answer, () => {
        checkContentRange(answer.headers['content-range'], { start, asked: length, received: answer.body.length });
        return answer.body;
      });
    },
    async head(key, signal) {
      checkKey(key);
      const answer = await call({ method: 'HEAD', key, amzHeaders: { 'x-amz-checksum-mode': 'ENABLED' } }, signal);
      if (answer.status === NOT_FOUND) return undefined;
      if (answer.status !== OK) throw storeError('read', failureOf(answer));
      return understood(answer, () => objectHeadOf(answer));
    },
    async list(prefix, { after, limit }, signal) {
      const startAfter = after === undefined ? '' : `&start-after=${percentEncode(after)}`;
      const query = `encoding-type=url&list-type=2&max-keys=${limit}&prefix=${percentEncode(prefix)}${startAfter}`;
      const answer = await call({ method: 'GET', key: '', query }, signal);
      if (answer.status !== OK) throw storeError('read', failureOf(answer));
      return understood(answer, () => parseListAnswer(textOf(answer)));
    },
    async delete(key, signal) {
      checkKey(key);
      const answer = await call({ method: 'DELETE', key }, signal);
      if (answer.status !== NO_CONTENT && answer.status !== OK) throw storeError('read', failureOf(answer));
    },
  };
}

function createCall({ bucket, ...settings }: Parameters<typeof createSignedStore>[0]): Call {
  const exchange = createSignedExchange({ service: 's3', codeOf: (answer) => parseErrorCode(textOf(answer)), ...settings });
  return async (request, signal) => {
    const { method, key, query = '', headers = {}, amzHeaders = {}, body = [], answerBytesMax = STORE_ANSWER_BYTES_MAX } = request;
    signal.throwIfAborted();
    const path = key === '' ? `/${bucket}` : `/${bucket}/${percentEncodePath(key)}`;
    const bodyBytes = body.reduce((bytes, part) => bytes + part.length, 0);
    const otherHeaders = method === 'PUT' ? { ...headers, 'content-length': String(bodyBytes) } : headers;
    const signing = { signedHeaders: { ...amzHeaders, 'x-amz-content-sha256': UNSIGNED_BODY }, bodyHash: UNSIGNED_BODY };
    try {
      return await exchange({ method, path, query, ...signing, otherHeaders, body, answerBytesMax }, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const sent = !(error instanceof ExchangeFailure) || error.sent;
      throw storeError(method === 'PUT' ? 'put' : 'read', { sent, cause: error });
    }
  };
}

function objectHeadOf({ headers }: Answer): ObjectHead {
  const checksum = headers['x-amz-checksum-sha256'];
  return parseObjectHead({
    contentLength: String(headers['content-length']),
    checksum: typeof checksum === 'string' ? checksum : undefined,
    contentEncoding: headers['content-encoding'],
  });
}

/** What a whole answer of a read says, or `unavailable` where it makes no sense. */
function understood<T>(answer: Answer, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw storeError('read', { sent: true, status: answer.status, cause: error });
  }
}

function failureOf(answer: Answer): Failure {
  const code = parseErrorCode(textOf(answer));
  return { sent: true, status: answer.status, ...(code === undefined ? {} : { code }), cause: undefined };
}

function textOf({ body }: Answer): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

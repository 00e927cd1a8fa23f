import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { Bytes } from '../../model/message.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import { failureOfSdk } from '../signed-http/failure.ts';
import { checkKey } from './check-key.ts';
import { byteRange, checkContentRange } from './content-range.ts';
import { parseObjectHead } from './object-head.ts';
import { createSdkClient } from './sdk-client.ts';
import { storeError } from './store-error.ts';
import type { StoreSettings } from './store-settings.ts';

/** An object that ends before the range has none of its bytes: no error of this port. */
const BEYOND_END = 416;
/** A HEAD's answer has no body that could name what is missing: a missing bucket looks the same. */
const NOT_FOUND = 404;

type Options = { readonly abortSignal: AbortSignal };

/** The port over the SDK, which also finds a function's own credentials. */
export function createSdkStore(settings: StoreSettings): ObjectStore {
  const client = createSdkClient(settings);
  const Bucket = settings.bucket;
  return {
    async put(key, body, signal) {
      checkKey(key);
      const ContentLength = body.reduce((bytes, part) => bytes + part.length, 0);
      await attempt('put', signal, (options) =>
        client.send(new PutObjectCommand({ Bucket, Key: key, Body: bodyOf(body), ContentLength }), options),
      );
    },
    async getRange(key, start, length, signal) {
      checkKey(key);
      const command = new GetObjectCommand({ Bucket, Key: key, Range: byteRange(start, length) });
      return await attempt('read', signal, async (options) => {
        const answer = await unless(BEYOND_END, client.send(command, options));
        if (answer === undefined) return new Uint8Array(0);
        assert(answer.Body instanceof Readable, 'the answer has a body');
        const bytes = await collect(answer.Body, length);
        checkContentRange(answer.ContentRange, { start, asked: length, received: bytes.length });
        return bytes;
      });
    },
    async head(key, signal) {
      checkKey(key);
      const command = new HeadObjectCommand({ Bucket, Key: key, ChecksumMode: 'ENABLED' });
      return await attempt('read', signal, async (options) => {
        const answer = await unless(NOT_FOUND, client.send(command, options));
        if (answer === undefined) return undefined;
        const { ContentLength, ChecksumSHA256, ContentEncoding } = answer;
        return parseObjectHead({ contentLength: String(ContentLength), checksum: ChecksumSHA256, contentEncoding: ContentEncoding });
      });
    },
    async list(prefix, { after, limit }, signal) {
      const from = after === undefined ? {} : { StartAfter: after };
      const command = new ListObjectsV2Command({ Bucket, Prefix: prefix, MaxKeys: limit, ...from });
      const { Contents = [], IsTruncated } = await attempt('read', signal, async (options) => {
        const answer = await client.send(command, options);
        // The SDK takes any text for an empty list, but a list says whether it goes on.
        assert(answer.IsTruncated !== undefined, 'the answer is a list');
        return answer;
      });
      const objects = Contents.map(({ Key = '', Size = 0 }) => ({ key: Key, bytes: Size }));
      const next = IsTruncated === true ? objects.at(-1)?.key : undefined;
      return { objects, ...(next === undefined ? {} : { next }) };
    },
    async delete(key, signal) {
      checkKey(key);
      await attempt('read', signal, (options) => client.send(new DeleteObjectCommand({ Bucket, Key: key }), options));
    },
  };
}

async function attempt<T>(access: 'read' | 'put', signal: AbortSignal, call: (options: Options) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await call({ abortSignal: signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : storeError(access, failureOfSdk(error));
  }
}

/** Several parts go out one after the other, without a copy that joins them. */
function bodyOf(parts: readonly Bytes[]): Bytes | Readable {
  const [only = new Uint8Array(0)] = parts;
  return parts.length < 2 ? only : Readable.from(parts, { objectMode: false });
}

/** The signal that the request was sent with ends the body, too. */
async function collect(body: Readable, bytesMax: number): Promise<Bytes> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the stream.
    assert(bytes <= bytesMax, 'the answer is longer than asked');
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks, bytes);
  return new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength);
}

async function unless<T>(status: number, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === status) return undefined;
    throw error;
  }
}

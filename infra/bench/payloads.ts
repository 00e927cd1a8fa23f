import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import type { Message } from '../../src/model/message.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Range } from '../../src/model/topic.ts';
import type { Codec } from '../../src/ports/compression.ts';
import { type Flight, loadFlights } from '../demo/flights.ts';

export const VALUE_BYTES = 1_024;
const REQUEST_MESSAGES = 1_000;
/** As many as a request may have: flights are small, and a request should have about as many bytes as one of the other cases. */
export const REQUEST_FLIGHTS = 10_000;
/** Different bodies that a load sends in turn. */
const BODIES = 8;
const SINGLE_BODIES = 64;
/** In hexadecimal. */
const KEY_BYTES = 16;
/** So small that what a message costs is all that it costs. */
const TINY_VALUE_BYTES = 16;

/** Files with request bodies, and what each holds. `valueBytes`, `keyBytes`: of these alone, uncompressed, on average. */
export type Bodies = {
  readonly files: readonly string[];
  readonly contentType: string;
  readonly messages: number;
  readonly valueBytes: number;
  readonly keyBytes: number;
};

type Slices = { readonly segments: readonly Range[]; readonly codec: Codec };

const JSON_TYPE = 'application/json';
const BATCH_TYPE = 'application/vnd.kelp.batch';

/** {@link REQUEST_MESSAGES} messages of {@link VALUE_BYTES} random bytes, in base64, each with a random key. */
export function randomJson(dir: string): Bodies {
  const texts = Array.from({ length: BODIES }, () => {
    const messages = randomMessages().map(({ key, value }) => ({ key: textOf(key), bytes: Buffer.from(value ?? []).toString('base64') }));
    return Buffer.from(JSON.stringify({ messages }));
  });
  return toFiles({ dir, name: 'random-json' }, texts, { contentType: JSON_TYPE, ...randomSizes(REQUEST_MESSAGES, VALUE_BYTES) });
}

/** The same as record batches, one for each segment, as a client sends them that knows the segments; `zstd`: as a broker stores JSON. */
export async function randomBatches(dir: string, segments: readonly Range[], codec: Codec = 'none'): Promise<Bodies> {
  const texts = await Promise.all(Array.from({ length: BODIES }, () => toBatches(randomMessages(), { segments, codec })));
  const about = { contentType: BATCH_TYPE, ...randomSizes(REQUEST_MESSAGES, VALUE_BYTES) };
  return toFiles({ dir, name: `random-batches-${segments.length}-${codec}` }, texts, about);
}

/** {@link REQUEST_FLIGHTS} messages of {@link TINY_VALUE_BYTES} a request, which is one batch. */
export async function tinyBatches(dir: string): Promise<Bodies> {
  const texts = await Promise.all(Array.from({ length: BODIES }, () => batchOf(randomMessages(REQUEST_FLIGHTS, TINY_VALUE_BYTES), 'zstd')));
  const about = { contentType: BATCH_TYPE, ...randomSizes(REQUEST_FLIGHTS, TINY_VALUE_BYTES) };
  return toFiles({ dir, name: 'tiny-batches' }, texts, about);
}

/** One message a body: {@link VALUE_BYTES} random bytes. */
export function randomSingles(dir: string): Bodies {
  const texts = Array.from({ length: SINGLE_BODIES }, () => randomBytes(VALUE_BYTES));
  const about = { contentType: 'application/octet-stream', messages: 1, valueBytes: VALUE_BYTES, keyBytes: 0 };
  return toFiles({ dir, name: 'random-single' }, texts, about);
}

/** The demo's flights, keyed by origin. */
export async function flightsJson(dir: string): Promise<Bodies> {
  const chunks = await flightChunks();
  const texts = chunks.map((flights) => {
    const messages = flights.map(({ key, value }) => `{"key":${JSON.stringify(key)},"value":${value}}`);
    return Buffer.from(`{"messages":[${messages.join(',')}]}`);
  });
  return toFiles({ dir, name: 'flights-json' }, texts, {
    contentType: JSON_TYPE,
    messages: REQUEST_FLIGHTS,
    ...meanSizes(chunks),
  });
}

/** The same as one record batch a body, which the client has compressed. */
export async function flightsBatches(dir: string, segments: readonly Range[]): Promise<Bodies> {
  const chunks = await flightChunks();
  const texts = await Promise.all(chunks.map((flights) => toBatches(flights.map(toMessage), { segments, codec: 'zstd' })));
  return toFiles({ dir, name: 'flights-batches' }, texts, {
    contentType: BATCH_TYPE,
    messages: REQUEST_FLIGHTS,
    ...meanSizes(chunks),
  });
}

export function randomMessages(count = REQUEST_MESSAGES, valueBytes = VALUE_BYTES): Message[] {
  return Array.from({ length: count }, () => ({
    key: Buffer.from(randomBytes(KEY_BYTES / 2).toString('hex')),
    value: randomBytes(valueBytes),
    headers: [],
    timestampMs: Date.now(),
  }));
}

const randomSizes = (messages: number, valueBytes: number): Pick<Bodies, 'messages' | 'valueBytes' | 'keyBytes'> => ({
  messages,
  valueBytes: valueBytes * messages,
  keyBytes: KEY_BYTES * messages,
});

async function flightChunks(): Promise<Flight[][]> {
  const flights: Flight[] = [];
  for await (const chunk of loadFlights(BODIES * REQUEST_FLIGHTS)) flights.push(...chunk);
  return Array.from({ length: BODIES }, (_, body) => flights.slice(body * REQUEST_FLIGHTS, (body + 1) * REQUEST_FLIGHTS));
}

function toMessage({ key, value, timestampMs }: Flight): Message {
  return { key: Buffer.from(key), value: Buffer.from(value), headers: [], timestampMs };
}

/** Both are ASCII. */
function meanSizes(chunks: readonly (readonly Flight[])[]): Pick<Bodies, 'valueBytes' | 'keyBytes'> {
  const flights = chunks.flat();
  return {
    valueBytes: flights.reduce((bytes, { value }) => bytes + value.length, 0) / chunks.length,
    keyBytes: flights.reduce((bytes, { key }) => bytes + key.length, 0) / chunks.length,
  };
}

async function toBatches(messages: readonly Message[], { segments, codec }: Slices): Promise<Buffer> {
  const slices = segments.map(() => [] as Message[]);
  for (const message of messages) {
    const partition = partitionOf(message.key);
    const slice = slices[segments.findIndex(({ lo, hi }) => lo <= partition && partition <= hi)];
    assert(slice !== undefined, 'segments tile all partitions');
    slice.push(message);
  }
  const filled = slices.filter((slice) => slice.length > 0);
  return Buffer.concat(await Promise.all(filled.map((slice) => batchOf(slice, codec))));
}

export const batchOf = (messages: readonly Message[], codec: Codec): Promise<Uint8Array> =>
  encodeBatch(messages, createCompression({ codec }));

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

function toFiles(
  { dir, name }: { readonly dir: string; readonly name: string },
  texts: readonly Uint8Array[],
  about: Omit<Bodies, 'files'>,
): Bodies {
  const files = texts.map((text, body) => {
    const file = join(dir, `${name}-${body}`);
    writeFileSync(file, text);
    return file;
  });
  return { ...about, files };
}

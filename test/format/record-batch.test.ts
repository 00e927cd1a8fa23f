import { crc32c } from '#crc32c';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { readBatchHeader, splitBatches, verifyBatch, withBaseOffset } from '../../src/format/record-batch-header.ts';
import { checkSentBatches } from '../../src/format/record-batch-sent.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { Message, StoredMessage } from '../../src/model/message.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Codec } from '../../src/ports/compression.ts';
import { arbitraryMessages } from './arbitrary-message.ts';
import { rawBatch } from './raw-batch.ts';

const codecs: readonly Codec[] = ['none', 'gzip', 'zstd'];
const none = createCompression({ codec: 'none' });
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ''), 'hex'));

/** Plain arrays, so that a view and a copy of the same bytes are equal. */
const plain = (messages: readonly (Message | StoredMessage)[]): unknown =>
  messages.map(({ key, value, headers, timestampMs }) => ({
    key: [...key],
    value: value && [...value],
    headers: headers.map((header) => [header.name, header.value && [...header.value]]),
    timestampMs,
  }));

const T = 1_700_000_000_000;

// Put together by hand from the format's description, byte by byte.
const EXAMPLE = hex(`
  0000000000000000 00000057 00000000 02 3b17ca2e
  0000 00000001 0000018bcfe56800 0000018bcfe56805 ffffffffffffffff ffff ffffffff 00000002
  30 00 00 00 02 61 04 6869 02 12 6b656c702d6b696e64 08 74657874
  18 00 0a 02 00 01 04 02 6e 01 02 6e 00
`);

const EXAMPLE_MESSAGES: readonly Message[] = [
  { key: bytesOf('a'), value: bytesOf('hi'), headers: [{ name: 'kelp-kind', value: bytesOf('text') }], timestampMs: T },
  {
    key: bytesOf(''),
    value: null,
    headers: [
      { name: 'n', value: null },
      { name: 'n', value: bytesOf('') },
    ],
    timestampMs: T + 5,
  },
];

// Written by another implementation (kafkajs 2.2.4, whose encoder fills the producer's fields differently).
const FOREIGN_NONE = hex(
  '0000000000000000000000eb000000000246d185fa0000000000030000018bcfe56800000001e8f1c10800ffffffffffffffff000000000000000000045a0000' +
    '000e6772c3b6c39f652e7b226964223a393030373139393235343734303939337d0402680231026204ff000c000a0200000022000d0402610104026e0231026e' +
    `06322c33e201008080dd9da417060262c801${'78'.repeat(100)}00`,
);
const FOREIGN_GZIP = hex(
  '00000000000000000000009f0000000002dfeb31c20001000000030000018bcfe56800000001e8f1c10800ffffffffffffffff000000000000000000041f8b08' +
    '000000000000038b626060e04b2f3abcedf0fc54bd6aa5cc14252b4b030373434b4b2353137313034b4be35a16a60c2643a62496ff0c3c0c5c4c0c0c0c4a0cbc' +
    '2c4c898c2c4c794c864c796c463ac68f18191a1aeece5d22cec6947482b1820e800100fcfde4f6ba000000',
);
const FOREIGN_MESSAGES: readonly Message[] = [
  {
    key: bytesOf('gr\u00f6\u00dfe'),
    value: bytesOf('{"id":9007199254740993}'),
    headers: [
      { name: 'h', value: bytesOf('1') },
      { name: 'b', value: hex('ff00') },
    ],
    timestampMs: T,
  },
  { key: bytesOf(''), value: bytesOf(''), headers: [], timestampMs: T + 5 },
  {
    key: bytesOf('a'),
    value: null,
    headers: [
      { name: 'n', value: bytesOf('1') },
      { name: 'n', value: bytesOf('2,3') },
    ],
    timestampMs: T - 7,
  },
  { key: bytesOf('b'), value: bytesOf('x'.repeat(100)), headers: [], timestampMs: T + 400_000_000_000 },
];

/** A batch of two small messages, in bytes of its own. */
const small = (): Promise<Uint8Array> => encodeBatch(EXAMPLE_MESSAGES, none);

/** Puts the right checksum on bytes that were changed. */
function resealed(bytes: Uint8Array): Uint8Array {
  Buffer.from(bytes.buffer, bytes.byteOffset).writeUInt32BE(crc32c(bytes.subarray(21)), 17);
  return bytes;
}

function isRefused(look: () => unknown): boolean {
  try {
    look();
    return false;
  } catch (error) {
    return error instanceof KelpError;
  }
}

describe('record batch', () => {
  test.each(codecs)('gives messages of every shape back, compressed by %s', async (codec) => {
    const compression = createCompression({ codec });
    await fc.assert(
      fc.asyncProperty(arbitraryMessages, fc.nat(), async (messages, baseOffset) => {
        const batch = await encodeBatch(messages, compression);
        const header = verifyBatch(batch);
        expect(header.count).toBe(messages.length);
        expect(header.maxTimestampMs).toBe(Math.max(...messages.map((message) => message.timestampMs)));
        const decoded = await decodeBatch(batch, baseOffset, compression);
        expect(plain(decoded)).toEqual(plain(messages));
        expect(decoded.map((message) => message.offset)).toEqual(messages.map((_, index) => baseOffset + index));
        expect(decoded.map((message) => message.partition)).toEqual(messages.map((message) => partitionOf(message.key)));
      }),
    );
  });

  test('is byte by byte what the description says', async () => {
    expect(Buffer.from(await small()).toString('hex')).toBe(Buffer.from(EXAMPLE).toString('hex'));
    expect(plain(await decodeBatch(EXAMPLE, 0, none))).toEqual(plain(EXAMPLE_MESSAGES));
  });

  test.each([
    ['plain', FOREIGN_NONE],
    ['gzip', FOREIGN_GZIP],
  ])('reads what another implementation wrote, %s', async (_name, batch) => {
    expect(verifyBatch(batch)).toMatchObject({ count: 4, baseTimestampMs: T, maxTimestampMs: T + 400_000_000_000 });
    expect(plain(await decodeBatch(batch, 0, none))).toEqual(plain(FOREIGN_MESSAGES));
    const [checked] = await checkSentBatches(batch, none);
    expect(checked).toMatchObject({ bytes: batch, partitions: [64955, 54301, 3265, 37611], highestTimestampMs: T + 400_000_000_000 });
  });

  test('J-08 keeps headers in order, with repeats, letter case, empty names and no value', async () => {
    const headers = [
      ['a', '1'],
      ['a', '2,3'],
      ['A', '4'],
      ['', '5'],
      ['b', null],
      ['b', ''],
    ] as const;
    const [message] = await decodeBatch(rawBatch({ records: [{ value: '', headers }] }), 0, none);
    expect(message?.headers.map(({ name, value }) => [name, value && Buffer.from(value).toString()])).toEqual(headers);
  });

  test('J-07 tells no value from an empty one', async () => {
    const messages = await decodeBatch(rawBatch({ records: [{ value: null }, { value: '' }] }), 0, none);
    expect(messages.map((message) => message.value && [...message.value])).toEqual([null, []]);
  });

  test.each(['gzip', 'zstd'] as const)('compresses by %s where it pays, and only there', async (codec) => {
    const compression = createCompression({ codec });
    const message = (value: Uint8Array): Message => ({ key: bytesOf('a'), value, headers: [], timestampMs: T });
    const codecOf = async (value: Uint8Array): Promise<unknown> => readBatchHeader(await encodeBatch([message(value)], compression)).codec;
    expect(await codecOf(bytesOf('x'.repeat(1_500)))).toBe('none');
    expect(await codecOf(bytesOf('x'.repeat(5_000)))).toBe(codec);
    expect(await codecOf(randomBytes(5_000))).toBe('none');
  });

  test('reads back what is larger unpacked than the request that brought it', async () => {
    // Keys that were found by pointer stand in the value too.
    const key = bytesOf('k'.repeat(4_096));
    const messages = Array.from({ length: 4_096 }, () => ({ key, value: bytesOf('v'.repeat(4_098)), headers: [], timestampMs: T }));
    const compression = createCompression({ codec: 'zstd' });
    const batch = await encodeBatch(messages, compression);
    expect(batch.length).toBeLessThan(1_000_000);
    const decoded = await decodeBatch(batch, 0, compression);
    expect(decoded).toHaveLength(4_096);
    expect(decoded.every((message) => message.key.length === 4_096 && message.value?.length === 4_098)).toBe(true);
  });

  test('F18 finds each flipped bit, except where nothing that is read stands', async () => {
    const batch = await small();
    // Base offset and leader epoch: outside the checksum, so that a reader may set them.
    const free = new Set([0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15]);
    for (let bit = 0; bit < batch.length * 8; bit += 1) {
      const flipped = Uint8Array.from(batch, (byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      expect({ bit, found: isRefused(() => verifyBatch(flipped)) }).toEqual({ bit, found: !free.has(bit >> 3) });
    }
  });

  test('F18 finds a cut at each byte', async () => {
    const batch = await small();
    for (let length = 1; length < batch.length; length += 1) {
      expect(() => verifyBatch(batch.subarray(0, length))).toThrow(KelpError);
      expect(() => [...splitBatches(batch.subarray(0, length))]).toThrow(KelpError);
    }
    expect(() => verifyBatch(new Uint8Array(0))).toThrow(KelpError);
  });

  test('answers damage behind a right checksum with the typed error alone', async () => {
    const change = fc.tuple(fc.integer({ min: 16, max: 98 }), fc.nat({ max: 255 }));
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), fc.integer({ min: 0, max: 40 }), async (changes, cut) => {
        const whole = await small();
        for (const [at, byte] of changes) whole[at] = byte;
        const batch = whole.slice(0, whole.length - cut);
        Buffer.from(batch.buffer).writeInt32BE(batch.length - 12, 8);
        for (const attempt of [decodeBatch(resealed(batch), 0, none), checkSentBatches(batch, none)]) {
          const error: unknown = await attempt.then(
            () => undefined,
            (reason: unknown) => reason,
          );
          if (error === undefined) continue;
          refused += 1;
          expect(error).toBeInstanceOf(KelpError);
          expect(error).toMatchObject({ kind: 'invalid' });
        }
      }),
      { numRuns: 2_000 },
    );
    expect(refused).toBeGreaterThan(1_000);
  });

  test('takes another base offset without touching the original or the checksum', async () => {
    for (const batch of [await small(), Buffer.from(await small())]) {
      const moved = withBaseOffset(batch, Number.MAX_SAFE_INTEGER);
      expect(Buffer.from(moved).readBigInt64BE(0)).toBe(2n ** 53n - 1n);
      expect(Buffer.from(batch).readBigInt64BE(0)).toBe(0n);
      expect(verifyBatch(moved)).toEqual(verifyBatch(batch));
    }
  });

  test('splits a body into its batches, and names the one at fault', async () => {
    const batch = await small();
    const two = Buffer.concat([batch, FOREIGN_NONE]);
    expect([...splitBatches(two)].map((part) => [part.start, part.bytes.length])).toEqual([
      [0, batch.length],
      [batch.length, FOREIGN_NONE.length],
    ]);
    expect(() => [...splitBatches(Buffer.concat([two, bytesOf('rest')]))]).toThrow(expect.objectContaining({ field: 'batches[2]' }));
    two[two.length - 1] = 1;
    expect(() => [...splitBatches(two)]).toThrow(expect.objectContaining({ field: 'batches[1].crc' }));
  });
});

import { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { checkSentBatches } from '../../src/format/record-batch-sent.ts';
import { TIMESTAMP_MS_MAX } from '../../src/model/limits.ts';
import { type RawBatch, type RawRecord, rawBatch, rawRecords } from './raw-batch.ts';

const compression = createCompression({ codec: 'zstd' });
const check = (...batches: Uint8Array[]): ReturnType<typeof checkSentBatches> => checkSentBatches(Buffer.concat(batches), compression);
const one = (record: RawRecord): Uint8Array => rawBatch({ records: [record] });
const many = (count: number, record: RawRecord = {}): RawRecord[] => Array.from({ length: count }, () => record);

const headers = (count: number, value: string): RawRecord => ({ headers: Array.from({ length: count }, () => ['h', value]) });

const refusal = (code: string, field: string): unknown => expect.objectContaining({ kind: 'invalid', code, field });

describe('batches that are sent', () => {
  test('are kept as they are, each with the partitions of its keys', async () => {
    const first = rawBatch({ records: [{ key: 'a', timestampDelta: 5 }, { key: '' }, { key: Buffer.from('fffe', 'hex') }] });
    const second = rawBatch({ records: [{ key: 'b', value: 'x' }] });
    const checked = await check(first, second);
    expect(checked.map((batch) => Buffer.from(batch.bytes).toString('hex'))).toEqual(
      [first, second].map((batch) => Buffer.from(batch).toString('hex')),
    );
    expect(checked.map((batch) => batch.partitions)).toEqual([[3265, 54301, expect.any(Number)], [37611]]);
    expect(checked.map((batch) => batch.highestTimestampMs)).toEqual([1_700_000_000_005, 1_700_000_000_000]);
  });

  test('are stored with base offset 0 wherever they were read', async () => {
    const [checked] = await check(rawBatch({ records: many(2), baseOffset: 12_345n }));
    expect(Buffer.from(checked?.bytes ?? []).toString('hex')).toBe(Buffer.from(rawBatch({ records: many(2) })).toString('hex'));
  });

  test.each([
    ['gzip', 1, zlib.gzipSync],
    ['zstd', 4, zlib.zstdCompressSync],
  ] as const)('may be compressed by %s', async (_name, attributes, compress) => {
    const records = [{ key: 'a' }, { key: 'b' }];
    const batch = rawBatch({ records, attributes, body: compress(rawRecords(records)) });
    const [checked] = await check(batch);
    expect(checked?.partitions).toEqual([3265, 37611]);
    expect(await decodeBatch(batch, 0, compression)).toHaveLength(2);
  });

  test.each<[name: string, batch: RawBatch, field: string]>([
    ['Snappy', { attributes: 2 }, 'batches[0].attributes'],
    ['LZ4', { attributes: 3 }, 'batches[0].attributes'],
    ['an undefined codec', { attributes: 7 }, 'batches[0].attributes'],
    ['log append time', { attributes: 8 }, 'batches[0].attributes'],
    ['a transaction', { attributes: 16 }, 'batches[0].attributes'],
    ['a control batch', { attributes: 32 }, 'batches[0].attributes'],
    ['a delete horizon', { attributes: 64 }, 'batches[0].attributes'],
    ['a flag from the future', { attributes: 0x8000 }, 'batches[0].attributes'],
    ['an older format', { magic: 1 }, 'batches[0].magic'],
    ['a wrong checksum', { crcOff: 1 }, 'batches[0].crc'],
    ['a length that is too short', { lengthOff: -1 }, 'batches[0].crc'],
    ['a length that is too long', { lengthOff: 1 }, 'batches[0].batchLength'],
    ['no records', { records: [], body: new Uint8Array(0), count: 0 }, 'batches[0].recordsCount'],
    ['fewer records than it says', { records: many(3, { value: 'a long value' }), count: 4 }, 'batches[0].records[3]'],
    ['more records than it says', { count: 2 }, 'batches[0].recordsCount'],
    ['a negative count', { count: -1 }, 'batches[0].recordsCount'],
    ['a count beyond its bytes', { count: 5_000 }, 'batches[0].recordsCount'],
    ['a gap behind its last offset', { lastOffsetDelta: 3 }, 'batches[0].recordsCount'],
    ['offsets out of order', { records: [{ offsetDelta: 1 }, { offsetDelta: 0 }] }, 'batches[0].records[0].offsetDelta'],
    ['a gap in its offsets', { records: [{}, { offsetDelta: 2 }] }, 'batches[0].records[1].offsetDelta'],
    ['a record without key', { records: [{}, { key: null }] }, 'batches[0].records[1].key'],
    ['a header without name', { records: [{ headers: [[null, 'x']] }] }, 'batches[0].records[0].headers[0]'],
    ['a header name that is not UTF-8', { records: [{ headers: [[Buffer.from([0xff]), 'x']] }] }, 'batches[0].records[0].headers[0]'],
    ['a record that is longer than its parts', { records: [{ lengthOff: 1 }, {}] }, 'batches[0].records[0].length'],
    [
      'a record that is shorter than its parts',
      { records: [{ lengthOff: -1, headers: [['a', 'b']] }] },
      'batches[0].records[0].headers[0]',
    ],
    ['a wrong highest time', { maxTimestamp: 1_800_000_000_000 }, 'batches[0].maxTimestamp'],
  ])('are refused with %s', async (_name, batch, field) => {
    const records = batch.records ?? many(3);
    await expect(check(rawBatch({ ...batch, records }))).rejects.toThrow(refusal('invalid-batch', field));
  });

  test.each([
    [-1, 'batches[1].baseTimestamp'],
    [TIMESTAMP_MS_MAX + 1, 'batches[1].baseTimestamp'],
  ])('J-09 are refused with the time %i', async (baseTimestamp, field) => {
    await expect(check(one({}), rawBatch({ records: many(1), baseTimestamp }))).rejects.toThrow(refusal('invalid-timestamp', field));
  });

  test('J-09 are refused with a record before 1970 or after 9999, and kept at both ends', async () => {
    const field = 'batches[0].records[1].timestamp';
    const early = rawBatch({ baseTimestamp: 5, records: [{}, { timestampDelta: -6 }] });
    await expect(check(early)).rejects.toThrow(refusal('invalid-timestamp', field));
    const [ends] = await check(rawBatch({ baseTimestamp: 5, records: [{ timestampDelta: -5 }, { timestampDelta: TIMESTAMP_MS_MAX - 5 }] }));
    expect(ends?.highestTimestampMs).toBe(TIMESTAMP_MS_MAX);
  });

  test('are refused where they say that a value is an upload, however often', async () => {
    const kinds = (...words: (string | null)[]): Uint8Array =>
      rawBatch({ records: [{}, { headers: words.map((word) => ['kelp-kind', word] as const) }] });
    for (const words of [['upload'], ['json', 'upload'], ['upload', 'upload']]) {
      await expect(check(kinds(...words))).rejects.toThrow(refusal('invalid-headers', 'batches[0].records[1].headers'));
    }
    expect(await check(kinds('json'), kinds('Upload'), kinds(null), one({ headers: [['kelp-Kind', 'upload']] }))).toHaveLength(4);
  });

  test('J-01 an empty key is a key', async () => {
    const [checked] = await check(one({ key: '' }));
    expect(checked?.partitions).toEqual([54301]);
  });

  test.each<[name: string, limit: { at: RawRecord; above: RawRecord; code: string; field: string }]>([
    ['value', { at: { value: Buffer.alloc(1_048_576) }, above: { value: Buffer.alloc(1_048_577) }, code: 'too-large', field: 'value' }],
    ['key', { at: { key: Buffer.alloc(4_096) }, above: { key: Buffer.alloc(4_097) }, code: 'invalid-key', field: 'key' }],
    [
      'key of two-byte characters',
      { at: { key: 'ö'.repeat(2_048) }, above: { key: 'ö'.repeat(2_049) }, code: 'invalid-key', field: 'key' },
    ],
    ['headers', { at: headers(64, 'v'), above: headers(65, 'v'), code: 'invalid-headers', field: 'headers' }],
    [
      'header bytes',
      { at: headers(1, 'v'.repeat(16_383)), above: headers(1, 'v'.repeat(16_384)), code: 'invalid-headers', field: 'headers' },
    ],
  ])('J-14 limit of %s', async (_name, limit) => {
    expect(await check(one(limit.at))).toHaveLength(1);
    const refused = check(one({}), rawBatch({ records: [{}, limit.above] }));
    await expect(refused).rejects.toThrow(refusal(limit.code, `batches[1].records[1].${limit.field}`));
  });

  test('J-14 limit of messages counts all batches together', async () => {
    const half = rawBatch({ records: many(5_000) });
    const checked = await check(half, half);
    expect(checked.reduce((sum, batch) => sum + batch.partitions.length, 0)).toBe(10_000);
    await expect(check(half, half, one({}))).rejects.toThrow(refusal('invalid-messages', 'batches'));
  });

  test('A14 limit of bytes counts what all batches together unpack to', async () => {
    const records = many(16, { value: Buffer.alloc(524_288 - 20) });
    const body = zlib.zstdCompressSync(rawRecords(records));
    const bomb = rawBatch({ records, attributes: 4, body });
    expect(body.length).toBeLessThan(2_000);
    expect(await check(bomb)).toHaveLength(1);
    await expect(check(bomb, bomb, bomb)).rejects.toThrow(refusal('too-large', 'batches[2]'));
  });

  test('are refused when their compressed records are damaged', async () => {
    await expect(check(rawBatch({ records: many(2), attributes: 4, body: randomBytes(50) }))).rejects.toThrow(
      refusal('invalid-compression', 'batches[0]'),
    );
  });

  test('must be there, and nothing else', async () => {
    await expect(check()).rejects.toThrow(refusal('invalid-batch', 'batches'));
    await expect(check(one({}), Buffer.from('{}'))).rejects.toThrow(refusal('invalid-batch', 'batches[1]'));
  });

  test('J-04 errors say nothing of what was sent', async () => {
    const secret = 'hunter2'.repeat(1_000);
    const error: Error = (await check(rawBatch({ records: [{ key: secret, value: secret }] })).catch(
      (reason: Error) => reason,
    )) as unknown as Error;
    expect(error.message.length).toBeLessThan(200);
    expect(error.message).not.toContain('hunter2');
  });
});

import { gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { REQUEST_BYTES_MAX } from '../../src/model/limits.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { type Log, openLog, one, utf8 } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const ENVELOPE = utf8('{"messages":[{"key":"a","text":"1"}]}');
const NDJSON = { 'content-type': 'application/x-ndjson' };
const BATCH = { 'content-type': 'application/vnd.kelp.batch' };

describe('Content-Encoding and A14', () => {
  test.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['zstd', zstdCompressSync],
    ['identity', (bytes: Uint8Array) => bytes],
  ] as const)('%s', async (encoding, pack) => {
    const log = await openLog(t);
    const headers = { 'content-encoding': encoding };
    expect((await log.publish(new Uint8Array(pack(ENVELOPE)), headers)).status).toBe(200);
    await log.publishRaw(new Uint8Array(pack(utf8('{}'))), { query: '?key=a', headers });
    expect(await log.messages()).toMatchObject([{ text: '1' }, { bytes: 'e30=' }]);
  });

  test.each(['br', 'deflate', 'gzip, gzip', 'compress', 'gzip;q=1'])('%s is refused, and the answer says what is not', async (encoding) => {
    const log = await openLog(t);
    const refused = await log.refuses(log.publish(ENVELOPE, { 'content-encoding': encoding }), 415, { field: 'Content-Encoding' });
    expect(refused.headers.get('accept-encoding')).toBe('gzip, zstd');
  });

  test.each(['gzip', 'zstd'])('what is no %s is refused', async (encoding) => {
    const log = await openLog(t);
    await log.refuses(log.publish(ENVELOPE, { 'content-encoding': encoding }), 400, { code: 'invalid-compression' });
    await log.refuses(log.publish(gzipSync(ENVELOPE).subarray(0, 20), { 'content-encoding': 'gzip' }), 400, {
      code: 'invalid-compression',
    });
  });

  test('a bomb is stopped at the limit', async () => {
    const log = await openLog(t);
    const bomb = new Uint8Array(100 * 1_048_576);
    for (const [encoding, pack] of [
      ['gzip', gzipSync],
      ['zstd', zstdCompressSync],
    ] as const) {
      const before = process.memoryUsage.rss();
      await log.refuses(log.publish(new Uint8Array(pack(bomb)), { 'content-encoding': encoding }), 413, {
        code: 'too-large',
        field: 'Content-Encoding',
      });
      expect(process.memoryUsage.rss() - before).toBeLessThan(5 * REQUEST_BYTES_MAX);
    }
  });
});

describe('J-14 limits-exact-and-never-cut', () => {
  const LIMIT = 1_048_576;
  const routes: readonly (readonly [string, (log: Log, value: Uint8Array) => ReturnType<Log['publish']>])[] = [
    ['raw', (log, value) => log.publishRaw(value, { query: '?key=a' })],
    ['text', (log, value) => log.publish(one({ key: 'a', text: Buffer.from(value).toString() }))],
    ['bytes', (log, value) => log.publish(one({ key: 'a', bytes: Buffer.from(value).toString('base64') }))],
    ['value', (log, value) => log.publish(`{"messages":[{"key":"a","value":"${Buffer.from(value.subarray(2)).toString()}"}]}`)],
    ['line', (log, value) => log.publish(`{"key":"a","text":"${Buffer.from(value).toString()}"}`, NDJSON)],
    ['batch', (log, value) => log.publish(rawBatch({ records: [{ value }] }), BATCH)],
  ];
  test.each(routes)('a value of exactly 1 MiB and one byte more, as %s', async (_, publish) => {
    const log = await openLog(t);
    await log.refuses(publish(log, new Uint8Array(LIMIT + 1).fill(0x61)), 413, { code: 'too-large' });
    expect((await publish(log, new Uint8Array(LIMIT).fill(0x61))).status).toBe(200);
    const [{ value, text, bytes }] = await log.messages();
    const length = bytes === undefined ? (text ?? JSON.stringify(value)).length : Buffer.from(bytes, 'base64').length;
    expect(length).toBe(LIMIT);
  });

  test('bytes are counted, not characters', async () => {
    const log = await openLog(t);
    await log.refuses(log.publish(one({ key: 'a', text: 'ä'.repeat(LIMIT / 2 + 1) })), 413);
    expect((await log.publish(one({ key: 'a', text: 'ä'.repeat(LIMIT / 2) }))).status).toBe(200);
  });

  test.each([
    ['4,096 bytes', 'x'.repeat(4_096), 200],
    ['4,097 bytes', 'x'.repeat(4_097), 400],
    ['2,048 characters of two bytes', 'ä'.repeat(2_048), 200],
    ['4,096 characters of two bytes', 'ä'.repeat(4_096), 400],
  ])('a key of %s', async (_, key, status) => {
    for (const publish of [
      (log: Log) => log.publish(one({ key, text: '' })),
      (log: Log) => log.publish(JSON.stringify({ key, text: '' }), NDJSON),
      (log: Log) => log.publishRaw('', { query: `?key=${encodeURIComponent(key)}` }),
      (log: Log) => log.publish(rawBatch({ records: [{ key: utf8(key), value: '' }] }), BATCH),
    ]) {
      const log = await openLog(t);
      if (status === 200) expect((await publish(log)).status).toBe(200);
      else await log.refuses(publish(log), 400, { code: 'invalid-key' });
    }
  });

  test.each([
    ['64 headers', 64, 'v', 200],
    ['65 headers', 65, 'v', 400],
    ['16 KiB of headers', 64, 'v'.repeat(253), 200],
    ['more than 16 KiB of headers', 64, 'v'.repeat(254), 400],
  ])('%s', async (_, count, value, status) => {
    const headers = Array.from({ length: count }, (_unused, index) => [`h${String(index).padStart(2, '0')}`, value] as const);
    const raw = Object.fromEntries(headers.map(([name, content]) => [`kelp-header-${name}`, content]));
    for (const publish of [
      (log: Log) => log.publish(one({ key: 'a', text: '', headers })),
      (log: Log) => log.publish(JSON.stringify({ key: 'a', text: '', headers }), NDJSON),
      (log: Log) => log.publishRaw('', { query: '?key=a', headers: raw }),
      (log: Log) => log.publish(rawBatch({ records: [{ value: '', headers }] }), BATCH),
    ]) {
      const log = await openLog(t);
      if (status === 200) expect((await publish(log)).status).toBe(200);
      else await log.refuses(publish(log), 400, { code: 'invalid-headers' });
    }
  });

  const many = (count: number): object[] => Array.from({ length: count }, () => ({ key: 'a', text: '' }));
  test('10,000 messages and one more, by every route', async () => {
    const log = await openLog(t);
    const lines = (count: number): string =>
      many(count)
        .map((message) => JSON.stringify(message))
        .join('\n');
    const batch = (count: number): Uint8Array => rawBatch({ records: Array.from({ length: count }, () => ({ value: '' })) });
    await log.refuses(log.publish({ messages: many(10_001) }), 400, { code: 'invalid-messages' });
    await log.refuses(log.publish(lines(10_001), NDJSON), 400, { code: 'invalid-messages' });
    await log.refuses(log.publish(batch(10_001), BATCH), 400, { code: 'invalid-messages' });
    for (const answer of [await log.publish({ messages: many(10_000) }), await log.publish(lines(10_000), NDJSON)])
      expect(answer.json.results).toHaveLength(10_000);
    expect((await log.publish(batch(10_000), BATCH)).json.results).toEqual([{ segment: log.segment, offset: 20_000, count: 10_000 }]);
  });

  test('one bad message among 10,000: nothing is stored', async () => {
    const log = await openLog(t);
    const messages = many(10_000);
    messages[9_999] = { key: 'a', text: 'x'.repeat(LIMIT + 1) };
    await log.refuses(log.publish({ messages }), 413, { field: 'messages[9999].text' });
  });

  test('A13 a body of exactly 16 MiB and one byte more: declared, streamed, gzipped', async () => {
    const padded = (size: number): Uint8Array => {
      const bytes = new Uint8Array(size).fill(0x20);
      bytes.set(ENVELOPE);
      return bytes;
    };
    const [fits, over] = [padded(REQUEST_BYTES_MAX), padded(REQUEST_BYTES_MAX + 1)];
    const log = await openLog(t);
    await log.refuses(log.publish(over, { 'content-length': String(over.length) }), 413, { code: 'too-large', field: 'body' });
    await log.refuses(log.publish(over), 413, { code: 'too-large', field: 'body' });
    await log.refuses(log.publish(gzipSync(over), { 'content-encoding': 'gzip' }), 413, { code: 'too-large' });
    expect((await log.publish(fits, { 'content-length': String(fits.length) })).status).toBe(200);
    expect((await log.publish(fits)).status).toBe(200);
    expect((await log.publish(gzipSync(fits), { 'content-encoding': 'gzip' })).status).toBe(200);
    expect(await log.tail()).toBe(3);
  });
});

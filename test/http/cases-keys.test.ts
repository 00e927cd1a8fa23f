import { beforeEach, describe, expect, test } from 'vitest';
import { rawBatch } from '../format/raw-batch.ts';
import { openLog, one, utf8 } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

describe('J-01 key-absent-null-empty', () => {
  test.each([
    ['absent', { text: '1' }],
    ['null', { key: null, text: '2' }],
    ['a number', { key: 1, text: '2' }],
    ['an object', { key: {}, text: '2' }],
  ])('a key that is %s is refused', async (_, message) => {
    const log = await openLog(t);
    await log.refuses(log.publish(one(message)), 400, { code: 'invalid-key', field: 'messages[0].key' });
    await log.refuses(log.publish(JSON.stringify(message), { 'content-type': 'application/x-ndjson' }), 400, { field: 'key', line: 1 });
  });

  test('an empty key is a key, and the word null another one', async () => {
    const log = await openLog(t);
    expect((await log.publish(one({ key: '', text: '3' }))).status).toBe(200);
    expect((await log.publish(one({ key: 'null', text: '4' }))).status).toBe(200);
    expect((await log.publishRaw('5', { query: '?key=', headers: { 'content-type': 'text/plain' } })).status).toBe(200);
    expect(await log.messages()).toMatchObject([
      { key: '', partition: 54301, text: '3' },
      { key: 'null', partition: 14246, text: '4' },
      { key: '', partition: 54301, text: '5' },
    ]);
  });

  test('a raw message without a key is refused', async () => {
    const log = await openLog(t);
    await log.refuses(log.publishRaw('6', { headers: { 'content-type': 'text/plain' } }), 400, { code: 'invalid-key', field: 'key' });
  });

  test.each(['{"a":null}', '{"a":{}}', '{"a":[]}', '{"b":1}'])('a pointer that finds no key in %s is refused', async (value) => {
    const log = await openLog(t, { partitionKey: { pointer: '/a' } });
    const refused = await log.refuses(log.publish(`{"messages":[{"value":${value}}]}`), 400, { code: 'invalid-key', pointer: '/a' });
    expect(refused.json.field).toBe('messages[0].value');
    await log.refuses(log.publishRaw(value), 400, { code: 'invalid-key', pointer: '/a' });
  });
});

const VECTORS: readonly (readonly [key: string, partition: number])[] = [
  ['größe'.normalize('NFC'), 64955],
  ['größe'.normalize('NFD'), 31246],
  ['🚕', 23825],
  ['a\0b', 28725],
  ['x'.repeat(4096), 8259],
  ['', 54301],
  ['a b', 3273],
  ['a+b', 26056],
  ['café'.normalize('NFC'), 1809],
  ['café'.normalize('NFD'), 4264],
  ['k5076', 0],
  ['k67821', 32767],
  ['k14210', 32768],
  ['k11317', 65535],
];

describe('J-02 key-non-ascii-same-partition-everywhere', () => {
  test.each(VECTORS)('key %j by every route', async (key, partition) => {
    const log = await openLog(t);
    const escaped = [...Array(key.length).keys()].map((at) => String.raw`\u${key.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
    expect((await log.publish(one({ key, text: 'raw' }))).status).toBe(200);
    expect((await log.publish(`{"messages":[{"key":"${escaped}","text":"escapes"}]}`)).status).toBe(200);
    expect((await log.publish(`${JSON.stringify({ key, text: 'lines' })}\n`, { 'content-type': 'application/x-ndjson' })).status).toBe(200);
    expect((await log.publishRaw('query', { query: `?key=${encodeURIComponent(key)}` })).status).toBe(200);
    const batch = rawBatch({ records: [{ key: utf8(key), value: 'batch' }] });
    expect((await log.publish(batch, { 'content-type': 'application/vnd.kelp.batch' })).status).toBe(200);
    const messages = await log.messages();
    expect(messages.map((message) => [message.key, message.partition])).toEqual(Array(5).fill([key, partition]));
  });

  test('a form-encoded blank in ?key= is a blank', async () => {
    const log = await openLog(t);
    await log.publishRaw('1', { query: '?key=a+b' });
    await log.publishRaw('2', { query: '?key=a%2Bb' });
    expect((await log.messages()).map(({ key }) => key)).toEqual(['a b', 'a+b']);
  });

  test.each(['?key=%ff', '?key=%ED%A0%80', '?key=%', '?key=%zz', '?key=a&key=b'])(
    '%s is refused, and no other key stored',
    async (query) => {
      const log = await openLog(t);
      await log.refuses(log.publishRaw('1', { query }), 400, { code: 'invalid-query', field: 'key' });
    },
  );

  test('a key in a batch that is not UTF-8 is read as keyBytes', async () => {
    const log = await openLog(t);
    await log.publish(rawBatch({ records: [{ key: Uint8Array.of(0xff, 0xfe), value: 'v' }] }), {
      'content-type': 'application/vnd.kelp.batch',
    });
    const [message] = await log.messages();
    expect(message.keyBytes).toBe('//4=');
    expect(message).not.toHaveProperty('key');
  });

  test('a batch with keys of two segments is refused as a whole', async () => {
    const log = await openLog(t, { segments: 2 });
    const batch = rawBatch({
      records: [
        { key: 'k0', value: '1' },
        { key: 'k1', value: '2' },
      ],
    });
    await log.refuses(log.publish(batch, { 'content-type': 'application/vnd.kelp.batch' }), 400, { code: 'invalid-batch' });
  });

  test('a batch whose key lies outside of the named segment is refused as a whole', async () => {
    const log = await openLog(t, { segments: 2 });
    const records = ['k0', 'k1', 'k3'].map((key) => rawBatch({ records: [{ key, value: 'v' }] }));
    const headers = { 'content-type': 'application/vnd.kelp.batch', 'kelp-segment': log.segment };
    await log.refuses(log.publish(Buffer.concat(records), headers), 400, { code: 'invalid-segment' });
  });
});

describe('the key of a raw message', () => {
  test('comes by Kelp-Key in ASCII, and not twice', async () => {
    const log = await openLog(t);
    await log.refuses(log.publishRaw('1', { query: '?key=a', headers: { 'kelp-key': 'a' } }), 400, { field: 'key' });
    await log.refuses(log.publishRaw('1', { headers: { 'kelp-key': 'gr\u00f6\u00dfe' } }), 400, { field: 'Kelp-Key' });
    expect((await log.publishRaw('1', { headers: { 'kelp-key': 'a b' } })).status).toBe(200);
    expect(await log.messages()).toMatchObject([{ key: 'a b', bytes: 'MQ==' }]);
  });

  test('comes from the header that the topic names, in whatever case', async () => {
    const log = await openLog(t, { partitionKey: { header: 'X-Id' } });
    await log.refuses(log.publishRaw('1'), 400, { code: 'invalid-key', field: 'headers' });
    await log.refuses(log.publishRaw('1', { query: '?key=a', headers: { 'kelp-header-x-id': 'a' } }), 400, {
      code: 'invalid-key',
      field: 'key',
    });
    expect((await log.publishRaw('1', { headers: { 'Kelp-Header-X-ID': 'a' } })).status).toBe(200);
    expect((await log.publish(one({ text: '2', headers: { 'X-Id': 'b' } }))).status).toBe(200);
    await expect(log.messages()).resolves.toMatchObject([{ key: 'a', headers: [['x-id', 'a']] }, { key: 'b' }]);
  });

  test('comes from the value by pointer, whatever the type', async () => {
    const log = await openLog(t, { partitionKey: { pointer: '/user/id' } });
    for (const type of ['application/json', 'text/plain', 'application/octet-stream']) {
      expect((await log.publishRaw('{"user":{"id":9007199254740993}}', { headers: { 'content-type': type } })).status).toBe(200);
    }
    const messages = await log.messages();
    expect(messages.map(({ key, partition }) => [key, partition])).toEqual(Array(3).fill(['9007199254740993', 12845]));
    expect(messages.map((message) => Object.keys(message)[3])).toEqual(['value', 'text', 'bytes']);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import { rawBatch } from '../format/raw-batch.ts';
import { openLog, one, utf8 } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const NDJSON = { 'content-type': 'application/x-ndjson' };
const BATCH = { 'content-type': 'application/vnd.kelp.batch' };
const bytesOf = (...parts: (string | number)[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))));

describe('J-04 text-that-is-not-utf8', () => {
  test.each([
    ['bad bytes in a text', bytesOf('{"messages":[{"key":"a","text":"na', 0xc3, '"}]}')],
    ['a lone surrogate in a text', '{"messages":[{"key":"a","text":"\\ud800"}]}'],
    ['a lone surrogate in a key', '{"messages":[{"key":"\\udc00","text":"a"}]}'],
    ['a lone surrogate in a value', '{"messages":[{"key":"a","value":{"x":"\\ud800"}}]}'],
    ['a mebibyte of 0x80', new Uint8Array(1_048_576).fill(0x80)],
  ])('%s is refused in few words', async (_, body) => {
    const log = await openLog(t);
    const refused = await log.refuses(log.publish(body), 400, { code: expect.stringMatching(/^invalid-(json|message)$/) });
    expect(refused.bytes.length).toBeLessThanOrEqual(4_096);
    expect(refused.text).not.toMatch(/na|\ufffd|d800|dc00/);
  });

  test('a pair of surrogates is a character, and raw bytes are bytes', async () => {
    const log = await openLog(t);
    await log.publish('{"messages":[{"key":"a","text":"\\ud83d\\ude95"}]}');
    await log.publishRaw(Uint8Array.of(0x6e, 0x61, 0xc3), { query: '?key=a', headers: { 'content-type': 'application/octet-stream' } });
    expect(await log.messages()).toMatchObject([{ text: '🚕' }, { bytes: 'bmHD' }]);
  });
});

const TOKENS = '{"b":1, "id":9007199254740993,"z":-0,"one":1.0,"huge":400000000000000000001,"inf":1e400}';

describe('J-05 value-tokens-verbatim', () => {
  test('the same text by JSON, lines, events and batches', async () => {
    const log = await openLog(t);
    await log.publish(`{"messages":[{"key":"a","value":${TOKENS}}]}`);
    await log.publish(`{"key":"a","value":${TOKENS}}`, NDJSON);
    await log.publishRaw(TOKENS, { query: '?key=a', headers: { 'content-type': 'application/json' } });
    for (const path of [`/v1/topics/${log.topic}/segments/${log.segment}/messages`, `/v1/topics/${log.topic}/messages`]) {
      for (const accept of ['application/json', 'application/x-ndjson']) {
        const { text } = await t.send('GET', path, { headers: { accept } });
        expect(text.split(`"value":${TOKENS},`)).toHaveLength(4);
      }
      expect((await t.events(path, 3)).split(`"value":${TOKENS},`)).toHaveLength(4);
    }
    const batches = await log.read('', { accept: 'application/vnd.kelp.batch' });
    expect(Buffer.from(batches.bytes).includes(TOKENS)).toBe(true);
  });

  test('line breaks between tokens stay, except in formats made of lines', async () => {
    const log = await openLog(t);
    await log.publish('{"messages":[{"key":"a","value":{\n  "a":\r\n 1}}]}');
    expect((await log.read()).text).toContain('"value":{\n  "a":\r\n 1},');
    expect((await log.read('', { accept: 'application/x-ndjson' })).text).toContain('"value":{   "a":   1},');
  });

  test('keys by pointer are the text of the token', async () => {
    const log = await openLog(t, { partitionKey: { pointer: '/id' } });
    for (const id of ['9007199254740992', '9007199254740993', '1', '1.0', '"1"'])
      await log.publish(`{"messages":[{"value":{"id":${id}}}]}`);
    expect((await log.messages()).map(({ key, partition }) => [key, partition])).toEqual([
      ['9007199254740992', 14968],
      ['9007199254740993', 12845],
      ['1', 50378],
      ['1.0', 58562],
      ['1', 50378],
    ]);
  });
});

describe('J-06 json-member-names', () => {
  test.each([
    ['{"messages":[{"key":"a","key":"b","text":"x"}]}', 'messages[0].key'],
    ['{"messages":[{"key":"a","text":"x","value":1}]}', 'messages[0].value'],
    ['{"messages":[{"__proto__":{"key":"a"},"text":"x"}]}', 'messages[0].__proto__'],
    ['{"messages":[{"key":"a","text":"x"}],"messages":[]}', 'messages'],
    ['{"messages":[{"key":"a","text":"x","offset":1}]}', 'messages[0].offset'],
    ['{"messages":[{"key":"a","text":"x"}],"acks":"all"}', 'acks'],
  ])('%s is refused by name', async (body, field) => {
    const log = await openLog(t);
    await log.refuses(log.publish(body), 400, { field });
  });

  test('a name twice on the way to the key is refused', async () => {
    const log = await openLog(t, { partitionKey: { pointer: '/u/id' } });
    await log.refuses(log.publish('{"messages":[{"value":{"u":{"id":"a","id":"b"}}}]}'), 400, { code: 'invalid-key' });
  });

  test('a value is data', async () => {
    const log = await openLog(t);
    for (const value of ['{"x":1,"x":2}', '{"__proto__":{"a":1},"constructor":2}']) {
      await log.publish(`{"messages":[{"key":"a","value":${value}}]}`);
      expect((await log.read()).text).toContain(`"value":${value}`);
    }
    await log.publish('{"messages":[{"key":"a","text":"x","headers":{"__proto__":"1","constructor":"2","toString":"3"}}]}');
    expect((await log.messages())[2].headers).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['toString', '3'],
    ]);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });
});

describe('J-07 value-null-empty-absent', () => {
  test('no value at all is refused', async () => {
    const log = await openLog(t);
    await log.refuses(log.publish(one({ key: 'a' })), 400, { code: 'invalid-message', field: 'messages[0]' });
    await log.refuses(log.publish(one({ key: 'a', tombstone: false })), 400, { field: 'messages[0].tombstone' });
  });

  test('null, empty and nothing are three things', async () => {
    const log = await openLog(t);
    for (const payload of [{ value: null }, { text: '' }, { bytes: '' }, { tombstone: true }])
      await log.publish(one({ key: 'a', ...payload }));
    await log.publishRaw('', { query: '?key=a' });
    await log.publishRaw(undefined, { query: '?key=a', headers: { 'content-type': 'text/plain' } });
    await log.publish(rawBatch({ records: [{ value: null }, { value: '' }] }), BATCH);
    const shapes = (await log.messages()).map(({ value, text, bytes, tombstone }) => ({ value, text, bytes, tombstone }));
    expect(JSON.parse(JSON.stringify(shapes))).toEqual([
      { value: null },
      { text: '' },
      { bytes: '' },
      { tombstone: true },
      { bytes: '' },
      { text: '' },
      { tombstone: true },
      { bytes: '' },
    ]);
  });
});

describe('J-08 repeated-headers', () => {
  const headers = [
    ['a', '1'],
    ['a', '2,3'],
    ['A', '4'],
    ['', '5'],
    ['b', null],
  ] as const;

  test('of a batch come back in order, in every format', async () => {
    const log = await openLog(t);
    await log.publish(rawBatch({ records: [{ value: 'v', headers }] }), BATCH);
    const expected = `"headers":${JSON.stringify(headers)}`;
    for (const accept of ['application/json', 'application/x-ndjson']) {
      expect((await log.read('', { accept })).text).toContain(expected);
      expect((await t.send('GET', `/v1/topics/${log.topic}/messages`, { headers: { accept } })).text).toContain(expected);
    }
    expect(await t.events(`/v1/topics/${log.topic}/messages`, 1)).toContain(expected);
  });

  test('of a JSON message, as a list or as an object; bytes and nothing too', async () => {
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: '', headers: [...headers, ['c', { bytes: '/w==' }]] }));
    await log.publish(one({ key: 'a', text: '', headers: { z: '1', a: null, m: { bytes: 'QQ==' } } }));
    const [list, object] = await log.messages();
    expect(list.headers).toEqual([...headers, ['c', { bytes: '/w==' }]]);
    expect(object.headers).toEqual([
      ['z', '1'],
      ['a', null],
      ['m', 'A'],
    ]);
  });

  test('Kelp’s own header is nobody’s to set', async () => {
    const log = await openLog(t);
    await log.refuses(log.publish(one({ key: 'a', text: '', headers: { 'kelp-kind': 'json' } })), 400, { code: 'invalid-headers' });
    await log.refuses(log.publishRaw('{', { query: '?key=a', headers: { 'kelp-header-kelp-kind': 'json' } }), 400, {
      code: 'invalid-headers',
      field: 'Kelp-Header-kelp-kind',
    });
    await log.refuses(log.publishRaw('{', { query: '?key=a', headers: { 'kelp-header-': 'x' } }), 400, { code: 'invalid-headers' });
  });

  test('of a raw message are kept in small letters, as the bytes that they are', async () => {
    const log = await openLog(t);
    await log.publishRaw('v', {
      query: '?key=a',
      headers: { 'Kelp-Header-Trace': 'x', 'kelp-header-b': Buffer.from('größe').toString('latin1'), 'kelp-header-c': '\u00ff' },
    });
    expect((await log.messages())[0].headers.toSorted()).toEqual([
      ['b', 'größe'],
      ['c', { bytes: '/w==' }],
      ['trace', 'x'],
    ]);
  });
});

describe('J-09 timestamp-zero-negative-absurd', () => {
  test.each(['-1', '1.5', '"1700000000000"', 'null', '253402300800000', '8640000000000001', '9007199254740993', '1e3', 'true'])(
    '%s is refused',
    async (timestamp) => {
      const log = await openLog(t);
      await log.refuses(log.publish(`{"messages":[{"key":"a","text":"","timestamp":${timestamp}}]}`), 400, {
        field: 'messages[0].timestamp',
      });
    },
  );

  test('0 is a time, none is now, and the year 9999 has an end', async () => {
    const log = await openLog(t);
    const before = Date.now();
    for (const timestamp of [0, undefined, 253402300799999]) await log.publish(one({ key: 'a', text: '', timestamp }));
    const [zero, now, end] = (await log.messages()).map(({ timestamp }) => timestamp);
    expect([zero, end]).toEqual([0, 253402300799999]);
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  test('a batch without a time is refused', async () => {
    const log = await openLog(t);
    const batch = rawBatch({ records: [{ value: 'v' }], baseTimestamp: -1, maxTimestamp: -1 });
    await log.refuses(log.publish(batch, BATCH), 400, { code: 'invalid-timestamp' });
  });
});

test('traceparent is kept, unless a message brings its own or is full', async () => {
  const log = await openLog(t);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const full = Array.from({ length: 64 }, (_, index) => [`h${index}`, '']);
  const messages = [
    { key: 'a', text: '' },
    { key: 'a', text: '', headers: { traceparent: 'own' } },
    { key: 'a', text: '', headers: full },
  ];
  expect((await log.publish({ messages }, { traceparent })).status).toBe(200);
  await log.publishRaw('', { query: '?key=a', headers: { traceparent } });
  await log.publish(one({ key: 'a', text: '' }), { traceparent: '00-0-0-01' });
  const headers = (await log.messages()).map((message) => message.headers);
  expect(headers).toEqual([[['traceparent', traceparent]], [['traceparent', 'own']], full, [['traceparent', traceparent]], []]);
});

test('what is refused names line and place', async () => {
  const log = await openLog(t);
  const line = JSON.stringify({ key: 'a', text: '' });
  await log.refuses(log.publish(`${line}\n\n${line}`, NDJSON), 400, { line: 2 });
  await log.refuses(log.publish(`${line}\n${line.slice(0, -1)}`, NDJSON), 400, { line: 2, code: 'invalid-json' });
  await log.refuses(log.publish(`${line}\n{"key":"a","bytes":"!"}\n`, NDJSON), 400, { line: 2, field: 'bytes', code: 'invalid-base64' });
  await log.refuses(log.publish('', NDJSON), 400, { code: 'invalid-messages' });
  await log.refuses(log.publish('{"messages":[]}'), 400, { code: 'invalid-messages' });
  await log.refuses(log.publish(''), 400);
  await log.refuses(log.publish(utf8('\ufeff{"messages":[]}')), 400);
  const deep = `${'['.repeat(65)}${']'.repeat(65)}`;
  await log.refuses(log.publish(`{"messages":[{"key":"a","value":${deep}}]}`), 400, { code: 'invalid-json' });
  await log.refuses(log.publish(rawBatch({ records: [{ value: 'v' }], crcOff: 1 }), BATCH), 400, {
    code: 'invalid-batch',
    field: 'batches[0].crc',
  });
  await log.refuses(log.publish(new Uint8Array(0), BATCH), 400, { code: 'invalid-batch' });
});

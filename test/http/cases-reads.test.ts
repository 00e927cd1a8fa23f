import { beforeEach, describe, expect, test } from 'vitest';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const BATCH = { accept: 'application/vnd.kelp.batch' };

describe('J-10 seek-by-time-unordered', () => {
  const times = (...list: number[]): object => ({ messages: list.map((timestamp) => ({ key: 'a', text: String(timestamp), timestamp })) });

  test.each([
    ['one batch', [[10, 30, 50, 70]]],
    ['four batches', [[10], [30], [50], [70]]],
    [
      'two batches',
      [
        [10, 30],
        [50, 70],
      ],
    ],
  ])('ordered, in %s', async (_, batches) => {
    const log = await openLog(t);
    for (const batch of batches) await log.publish(times(...batch));
    for (const [timestamp, offset] of [
      [5, 0],
      [10, 0],
      [20, 1],
      [70, 3],
    ]) {
      const page = (await log.read(`?timestamp=${timestamp}`)).json;
      expect([timestamp, page.messages[0].offset, page.nextOffset]).toEqual([timestamp, offset, 4]);
    }
    const late = await log.read('?timestamp=80');
    expect([late.status, late.json.messages, late.json.nextOffset]).toEqual([200, [], 4]);
  });

  test('unordered: the lowest offset whose time is at or behind it', async () => {
    const log = await openLog(t);
    await log.publish(times(100, 50, 200, 150));
    for (const [timestamp, offset] of [
      [60, 0],
      [120, 2],
      [151, 2],
    ]) {
      expect((await log.read(`?timestamp=${timestamp}`)).json.messages[0].offset).toBe(offset);
    }
    expect((await log.read('?timestamp=201')).json).toMatchObject({ messages: [], nextOffset: 4 });
    const topic = await t.send('GET', `/v1/topics/${log.topic}/messages?cursor=timestamp:120`);
    expect(topic.json.messages.map(({ offset }: { offset: number }) => offset)).toEqual([2, 3]);
  });
});

describe('J-20 reads-that-return-nothing', () => {
  test('at least one message comes until the tail', async () => {
    const log = await openLog(t);
    for (const size of [10_000, 900_000, 10]) await log.publishRaw('x'.repeat(size), { query: '?key=a' });
    for (const query of ['maxBytes=1', 'limit=1', 'maxBytes=1&limit=1']) {
      const offsets: number[] = [];
      for (let next = 0; next < 3;) {
        const page = (await log.read(`?${query}&offset=${next}`)).json;
        expect(page.messages).toHaveLength(1);
        offsets.push(page.messages[0].offset);
        next = page.nextOffset;
      }
      expect(offsets).toEqual([0, 1, 2]);
    }
    expect((await log.read('?offset=3')).json).toMatchObject({ messages: [], nextOffset: 3, tail: 3, sealed: false, successors: [] });
  });

  test('a publish wakes 200 pollers of the segment, and those of the topic', async () => {
    const log = await openLog(t);
    const cursor = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.cursor as string;
    const polls = Array.from({ length: 200 }, () => log.read('?waitMs=25000'));
    const topicPoll = t.send('GET', `/v1/topics/${log.topic}/messages?waitMs=25000&cursor=${cursor}`);
    await log.publish(one({ key: 'a', text: 'now' }));
    const ackedMs = Date.now();
    for (const poll of [...polls, topicPoll]) expect((await poll).json.messages).toMatchObject([{ text: 'now' }]);
    expect(Date.now() - ackedMs).toBeLessThan(2_000);
  });

  test('a deletion ends a poll at once', async () => {
    const log = await openLog(t);
    const polls = [log.read('?waitMs=25000'), t.send('GET', `/v1/topics/${log.topic}/messages?waitMs=25000`)];
    await t.send('DELETE', `/v1/topics/${log.topic}`);
    for (const poll of polls) expect((await poll).json.code).toBe('topic-not-found');
  });

  test('a poll ends with nothing before its deadline', async () => {
    const log = await openLog(t);
    const poll = await log.read('?waitMs=25000', { 'kelp-timeout-ms': '300' });
    expect([poll.status, poll.json.messages]).toEqual([200, []]);
  });

  test('a stopping process answers those who wait', async () => {
    let waiting = 0;
    t = createTestApp({
      change: ({ consumer }) => ({
        consumer: {
          ...consumer,
          readSegment: (topic, wanted, signal) => consumer.readSegment(topic, (waiting++, wanted), signal),
          readTopic: (topic, wanted, signal) => consumer.readTopic(topic, (waiting++, wanted), signal),
        },
      }),
    });
    const log = await openLog(t);
    const polls = [log.read('?waitMs=25000'), t.send('GET', `/v1/topics/${log.topic}/messages?waitMs=25000`)];
    await expect.poll(() => waiting).toBe(2);
    t.stop();
    for (const poll of polls) expect((await poll).json.messages).toEqual([]);
    expect((await t.send('GET', '/readyz')).status).toBe(503);
    expect((await t.send('GET', '/livez')).status).toBe(200);
  });
});

describe('where a segment read begins', () => {
  test.each([
    ['?offset=-1', 400, 'invalid-offset'],
    ['?offset=1.5', 400, 'invalid-offset'],
    ['?offset=9007199254740992', 400, 'invalid-offset'],
    ['?offset=', 400, 'invalid-offset'],
    ['?timestamp=253402300800000', 400, 'invalid-timestamp'],
    ['?from=middle', 400, 'invalid-from'],
    ['?offset=0&from=latest', 400, 'invalid-query'],
    ['?ofset=0', 400, 'invalid-query'],
    ['?limit=0', 400, 'invalid-limit'],
    ['?limit=10001', 400, 'invalid-limit'],
    ['?maxBytes=0', 400, 'invalid-max-bytes'],
    ['?waitMs=25001', 400, 'invalid-wait-ms'],
    ['?offset=2', 416, 'beyond-tail'],
    ['?offset=9007199254740991', 416, 'beyond-tail'],
  ])('%s is refused', async (query, status, code) => {
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: '' }));
    const refused = await log.read(query);
    expect([refused.status, refused.json.code, typeof refused.json.field]).toEqual([status, code, 'string']);
    if (status === 416) expect(refused.json.tail).toBe(1);
  });

  test('from=latest is the tail of the moment', async () => {
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: '' }));
    expect((await log.read('?from=latest')).json).toMatchObject({ messages: [], nextOffset: 1 });
    expect((await log.read('?from=earliest')).json).toMatchObject({ messages: [{ offset: 0 }], nextOffset: 1 });
  });
});

test('NDJSON says in headers what JSON says around the messages', async () => {
  const log = await openLog(t);
  await log.publish({
    messages: [
      { key: 'a', text: '1\n' },
      { key: 'a', text: '2' },
      { key: 'a', text: '3' },
    ],
  });
  const page = await log.read('?limit=2', { accept: 'application/x-ndjson' });
  const lines = page.text.split('\n');
  expect(lines.pop()).toBe('');
  expect(lines.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(['1\n', '2']);
  const headers = ['kelp-next-offset', 'kelp-tail', 'kelp-sealed', 'kelp-successors'].map((name) => page.headers.get(name));
  expect(headers).toEqual(['2', '3', 'false', '']);
});

describe('record batches', () => {
  test('of a segment come whole, with their offsets', async () => {
    const log = await openLog(t);
    const sent = [
      rawBatch({ records: [{ value: '0' }, { value: '1' }, { value: '2' }] }),
      rawBatch({ records: [{ value: '3' }], baseOffset: 77n }),
    ];
    for (const batch of sent) await log.publish(batch, { 'content-type': 'application/vnd.kelp.batch' });
    const first = await log.read('?offset=1&limit=1', BATCH);
    expect([first.headers.get('kelp-offset'), first.headers.get('kelp-next-offset')]).toEqual(['1', '3']);
    const rest = await log.read('?offset=3', BATCH);
    expect([rest.headers.get('kelp-offset'), rest.headers.get('kelp-next-offset'), rest.headers.get('kelp-tail')]).toEqual(['3', '4', '4']);
    const batches = [...splitBatches(Buffer.concat([first.bytes, rest.bytes]))];
    expect(batches.map(({ bytes }) => new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0))).toEqual([0n, 3n]);
    batches.forEach(({ bytes }, index) => expect(Buffer.compare(bytes.subarray(8), sent[index]!.subarray(8))).toBe(0));
    expect((await log.read('?offset=4', BATCH)).bytes).toHaveLength(0);
  });

  test('of a topic come in frames', async () => {
    const log = await openLog(t, { segments: 2 });
    const keys = ['k0', 'k1', 'k2', 'k3', 'k6', 'k4'];
    for (const key of keys) await log.publish(one({ key, text: key }));
    const page = await t.send('GET', `/v1/topics/${log.topic}/messages`, { headers: BATCH });
    expect(page.headers.get('content-type')).toBe('application/vnd.kelp.batch; framing=segment');
    const found: string[] = [];
    for (let at = 0; at < page.bytes.length;) {
      const feed = page.bytes.indexOf(0x0a, at);
      const [segment, first, next, size] = Buffer.from(page.bytes.subarray(at, feed)).toString().split(' ');
      const body = page.bytes.subarray(feed + 1, feed + 1 + Number(size));
      for (const { bytes } of splitBatches(body)) {
        const base = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0));
        for (const message of await decodeBatch(bytes, base, t.deps.compression)) {
          if (message.offset >= Number(first) && message.offset < Number(next))
            found.push(`${segment} ${message.offset} ${Buffer.from(message.key)}`);
        }
      }
      at = feed + 1 + Number(size);
    }
    const json = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.messages;
    expect(found.toSorted()).toEqual(
      json
        .map((message: { segment: string; offset: number; key: string }) => `${message.segment} ${message.offset} ${message.key}`)
        .toSorted(),
    );
    expect(found).toHaveLength(6);
    const after = await t.send('GET', `/v1/topics/${log.topic}/messages?cursor=${page.headers.get('kelp-cursor')}`);
    expect(after.json.messages).toEqual([]);
  });
});

test('pages below the tail are immutable for their caller, all others are not stored', async () => {
  const log = await openLog(t);
  await log.publish({
    messages: [
      { key: 'a', text: '1' },
      { key: 'a', text: '2' },
    ],
  });
  for (const accept of ['application/json', 'application/x-ndjson']) {
    const page = await log.read('?offset=0&limit=1', { accept });
    expect([page.headers.get('cache-control'), page.headers.get('vary')]).toEqual([
      'private, max-age=86400, immutable',
      'Accept, Authorization',
    ]);
  }
  for (const query of ['?offset=0', '?limit=1', '?timestamp=0&limit=1', '?from=earliest&limit=1', '?offset=2']) {
    expect([query, (await log.read(query)).headers.get('cache-control')]).toEqual([query, 'no-store']);
  }
  expect((await t.send('GET', `/v1/topics/${log.topic}/messages?limit=1`)).headers.get('cache-control')).toBe('no-store');
});

describe('reading a topic', () => {
  test('gives each message once, each key in order, over pages of any size', async () => {
    const log = await openLog(t, { segments: 4 });
    const messages = Array.from({ length: 100 }, (_, index) => ({ key: `k${index % 7}`, text: String(index) }));
    await log.publish({ messages });
    for (const limit of [1, 7, 1_000]) {
      const found: { key: string; text: string }[] = [];
      let cursor = 'earliest';
      for (;;) {
        const page = (await t.send('GET', `/v1/topics/${log.topic}/messages?limit=${limit}&cursor=${cursor}`)).json;
        if (page.messages.length === 0) break;
        found.push(...page.messages);
        cursor = page.cursor as string;
      }
      expect(found).toHaveLength(100);
      for (let key = 0; key < 7; key += 1) {
        const own = found.filter((message) => message.key === `k${key}`).map(({ text }) => text);
        expect(own).toEqual(messages.filter((message) => message.key === `k${key}`).map(({ text }) => text));
      }
    }
  });

  test('A18: a cursor that was not handed out is refused', async () => {
    const log = await openLog(t);
    const other = await openLog(t);
    await log.publish(one({ key: 'a', text: '1' }));
    const cursor = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.cursor as string;
    const middle = Math.floor(cursor.length / 2);
    const changed = cursor.slice(0, middle) + (cursor[middle] === 'A' ? 'B' : 'A') + cursor.slice(middle + 1);
    for (const forged of [
      changed,
      cursor.slice(0, -1),
      `${cursor}A`,
      '',
      'x',
      'now',
      'timestamp:',
      'timestamp:-1',
      'timestamp:253402300800000',
      'LATEST',
    ]) {
      const refused = await t.send('GET', `/v1/topics/${log.topic}/messages?cursor=${forged}`);
      expect([forged, refused.status, refused.json.code, refused.json.field]).toEqual([forged, 400, 'invalid-cursor', 'cursor']);
    }
    expect((await t.send('GET', `/v1/topics/${other.topic}/messages?cursor=${cursor}`)).json.code).toBe('invalid-cursor');
  });
});

describe('J-23 topic-deleted-and-made-again', () => {
  test('positions of the former life are known as such, at once', async () => {
    const log = await openLog(t);
    for (let index = 0; index < 10; index += 1) await log.publish(one({ key: 'a', text: String(index) }));
    const cursor = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.cursor as string;
    const producer = { 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0' };
    await log.publish(one({ key: 'a', text: 'p' }), { ...producer, 'kelp-segment': log.segment, 'kelp-producer-sequence': '0' });
    await t.send('DELETE', `/v1/topics/${log.topic}`);
    await t.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    const { segments } = (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json;
    for (let index = 0; index < 5; index += 1) await log.publish(one({ key: 'a', text: `new ${index}` }));

    const beganMs = Date.now();
    for (const answer of [
      await t.send('GET', `/v1/topics/${log.topic}/messages?waitMs=25000&cursor=${cursor}`),
      await log.read('?waitMs=25000&offset=10'),
      await log.publish(one({ key: 'a', text: '' }), { 'kelp-segment': log.segment }),
      await log.publish(one({ key: 'a', text: '' }), { ...producer, 'kelp-segment': log.segment, 'kelp-producer-sequence': '1' }),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([410, 'topic-replaced']);
    }
    expect(Date.now() - beganMs).toBeLessThan(2_000);
    const fresh = await log.publish(one({ key: 'a', text: 'p' }), {
      ...producer,
      'kelp-segment': segments[0].segment,
      'kelp-producer-sequence': '0',
    });
    expect(fresh.json.results).toEqual([{ segment: segments[0].segment, offset: 5 }]);
    const all = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.messages;
    expect(all.map(({ text }: { text: string }) => text)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4', 'p']);
  });

  test('an instance that remembers the old topic finds the new one', async () => {
    const other = createTestApp({ table: t.table, store: t.store });
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: 'old' }));
    const path = `/v1/topics/${log.topic}`;
    await other.send('POST', `${path}/messages`, { body: one({ key: 'a', text: 'old too' }) });
    await t.send('DELETE', path);
    await t.send('PUT', path, { body: { partitionKey: { header: 'id' }, segments: 2 } });
    // Another rule for the key, too: what was parsed by the old one must not be stored.
    expect((await other.send('POST', `${path}/messages`, { body: one({ key: 'a', text: 'new' }) })).json.code).toBe('invalid-key');
    expect((await other.send('POST', `${path}/messages`, { body: one({ text: 'new', headers: { id: 'a' } }) })).status).toBe(200);
    const { messages } = (await other.send('GET', `${path}/messages`)).json;
    expect(messages).toMatchObject([{ key: 'a', text: 'new' }]);
  });
});

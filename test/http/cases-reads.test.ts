import { beforeEach, describe, expect, test } from 'vitest';
import { openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

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
    t.leave();
    expect((await t.send('GET', '/livez')).json).toEqual({ status: 'leaving' });
    expect((await t.send('GET', '/readyz')).status).toBe(503);
    expect((await log.read('')).status).toBe(200);
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

  test.each([
    ['?ofset=0', 'ofset'],
    ['?limit=1&__proto__=1', '__proto__'],
    ['?offset=0&from=latest', 'from'],
    ['?limit=1&limit=1', 'limit'],
    ['?wait%20ms=1', 'query'],
    ['?%ff=1', 'query'],
    [`?${'x'.repeat(65)}=1`, 'query'],
  ])('%s names %s', async (query, field) => {
    const answer = await (await openLog(t)).read(query);
    expect([answer.status, answer.json.code, answer.json.field]).toEqual([400, 'invalid-query', field]);
  });

  test('from=latest is the tail of the moment', async () => {
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: '' }));
    expect((await log.read('?from=latest')).json).toMatchObject({ messages: [], nextOffset: 1 });
    expect((await log.read('?from=earliest')).json).toMatchObject({ messages: [{ offset: 0 }], nextOffset: 1 });
  });
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

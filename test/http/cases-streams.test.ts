import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { createVirtualClock, settle } from '../simulation/virtual-clock.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, requestOf, type Sending, type TestApp } from './test-app.ts';

let t: TestApp;
const open: Stream[] = [];
beforeEach(() => {
  t = createTestApp();
});
afterEach(async () => {
  for (const opened of open.splice(0)) await opened.cut();
});

const SSE = { accept: 'text/event-stream' };

type Event = { readonly id?: string; readonly event?: string; readonly data: string };
type Stream = {
  readonly response: Response;
  /** All that has come so far. */
  text(): string;
  /** Reads until so many events have come. */
  events(count: number): Promise<Event[]>;
  /** Reads the next piece. */
  piece(): Promise<string | undefined>;
  cut(): Promise<void>;
};

async function stream(path: string, sending: Sending = {}): Promise<Stream> {
  const response = await t.app.fetch(requestOf('GET', path, { ...sending, headers: { ...SSE, ...sending.headers } }));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const reader = response.body!.getReader();
  let text = '';
  const piece = async (): Promise<string | undefined> => {
    const { value, done } = await reader.read();
    if (done) return undefined;
    const read = Buffer.from(value as Uint8Array).toString();
    text += read;
    return read;
  };
  const made: Stream = {
    response,
    text: () => text,
    piece,
    async events(count) {
      while (eventsOf(text).length < count) if ((await piece()) === undefined) throw new Error(`ended after ${text}`);
      return eventsOf(text);
    },
    cut: () => reader.cancel(),
  };
  open.push(made);
  return made;
}

/** Whole events; comments have no data. */
function eventsOf(text: string): Event[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => {
    const fields = Object.fromEntries(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    return fields['data'] === undefined ? [] : [fields as unknown as Event];
  });
}

const textsOf = (events: readonly Event[]): string[] => events.map(({ data }) => (JSON.parse(data) as { text: string }).text);
const pathsOf = (log: Log): string[] => [`/v1/topics/${log.topic}/segments/${log.segment}/messages`, `/v1/topics/${log.topic}/messages`];

const truncated = (): KelpError => new KelpError('not-found', 'truncated', 'gone', { extra: { start: 2 } });

async function openNumbered(count: number, segments = 1): Promise<Log> {
  const log = await openLog(t, { segments });
  const messages = Array.from({ length: count }, (_, index) => ({ key: `k${index}`, text: String(index) }));
  await log.publish({ messages });
  return log;
}

describe('J-22 sse-resume-proxies-errors', () => {
  test('(a) a stream that is cut goes on with the event behind the last one, however often', async () => {
    for (const which of [0, 1]) {
      const log = await openNumbered(10);
      const path = pathsOf(log)[which] ?? '';
      const first = await stream(path);
      const id = (await first.events(5))[4]?.id ?? '';
      await first.cut();
      const resuming = { headers: { 'last-event-id': id } };
      await (await stream(path, resuming)).cut();
      const second = await stream(path, resuming);
      expect(textsOf(await second.events(5))).toEqual(['5', '6', '7', '8', '9']);
      await log.publish(one({ key: 'a', text: 'new' }));
      expect(textsOf(await second.events(6)).at(-1)).toBe('new');
    }
  });

  test('(a) of a topic with several segments, cut behind any event', async () => {
    const log = await openNumbered(40, 4);
    const [, path = ''] = pathsOf(log);
    const all = await (await stream(path)).events(40);
    for (let cut = 1; cut <= 40; cut += 3) {
      const rest = cut === 40 ? [] : await (await stream(path, { headers: { 'last-event-id': all[cut - 1]?.id ?? '' } })).events(40 - cut);
      expect(textsOf(rest).toSorted()).toEqual(textsOf(all.slice(cut)).toSorted());
    }
  });

  test('(b) the header wins over the query; what was never handed out is refused', async () => {
    const log = await openNumbered(3);
    const [segmentPath = '', topicPath = ''] = pathsOf(log);
    const resumed = await stream(`${segmentPath}?offset=0`, { headers: { 'last-event-id': `${log.segment}:2` } });
    expect(textsOf(await resumed.events(1))).toEqual(['2']);
    const cursor = (await t.send('GET', `${topicPath}?limit=2`)).json.cursor as string;
    const topicResumed = await stream(`${topicPath}?cursor=earliest`, { headers: { 'last-event-id': cursor } });
    expect(textsOf(await topicResumed.events(1))).toEqual(['2']);
    for (const forged of [
      '',
      'x',
      '2',
      `${log.segment}:`,
      `${log.segment}:-1`,
      `${log.segment}:1:2`,
      `${log.segment}:4`,
      `${log.segment}:9007199254740992`,
      's9999999:1',
      cursor,
    ]) {
      const refused = await t.send('GET', segmentPath, { headers: { ...SSE, 'last-event-id': forged } });
      expect([forged, refused.status, refused.json.code, refused.json.field]).toEqual([forged, 400, 'invalid-position', 'Last-Event-ID']);
    }
    for (const forged of ['x', 'earliest', 'latest', 'timestamp:0', `${log.segment}:1`, `${cursor}A`]) {
      const refused = await t.send('GET', topicPath, { headers: { ...SSE, 'last-event-id': forged } });
      expect([forged, refused.status, refused.json.code, refused.json.field]).toEqual([forged, 400, 'invalid-cursor', 'Last-Event-ID']);
    }
  });

  test('(b) a retired offset is 410', async () => {
    const log = await openNumbered(3);
    const [path = ''] = pathsOf(log);
    t = createTestApp({
      table: t.table,
      store: t.store,
      change: ({ consumer }) => ({ consumer: { ...consumer, readSegment: () => Promise.reject(truncated()) } }),
    });
    const refused = await t.send('GET', path, { headers: { ...SSE, 'last-event-id': `${log.segment}:1` } });
    expect([refused.status, refused.json.code, refused.json.start]).toEqual([410, 'truncated', 2]);
  });

  test('(c) headers at once, and a comment at least every 15 s', async () => {
    const clock = createVirtualClock();
    t = createTestApp({ clock });
    for (const which of [0, 1]) {
      const log = await openLog(t);
      const path = pathsOf(log)[which] ?? '';
      const quiet = await stream(path);
      expect(quiet.response.headers.get('cache-control')).toBe('no-cache, no-transform');
      expect(quiet.response.headers.get('x-accel-buffering')).toBe('no');
      expect(await quiet.piece()).toMatch(/^:/);
      for (let seconds = 0; seconds < 45; seconds += 15) {
        const next = quiet.piece();
        let came = false;
        void next.then(() => (came = true));
        await clock.advance(15_000);
        await settle();
        expect(came).toBe(true);
        expect(await next).toMatch(/^:/);
      }
      expect(eventsOf(quiet.text())).toEqual([]);
      await log.publish(one({ key: 'a', text: '' }));
      await quiet.events(1);
    }
  });

  test('(d) what is wrong is a problem, before there is a stream', async () => {
    const log = await openNumbered(1);
    const [segmentPath = '', topicPath = ''] = pathsOf(log);
    const cases: readonly (readonly [string, number])[] = [
      [segmentPath.replace(log.segment, 'szzzzzzz'), 404],
      [topicPath.replace(log.topic, 'nowhere'), 404],
      [`${segmentPath}?offset=2`, 416],
      [`${segmentPath}?offset=x`, 400],
      [`${topicPath}?cursor=x`, 400],
    ];
    for (const [path, status] of cases) {
      const refused = await t.send('GET', path, { headers: SSE });
      expect([path, refused.status, refused.headers.get('content-type')]).toEqual([path, status, 'application/problem+json']);
    }
    expect((await t.send('GET', topicPath, { headers: SSE, token: null })).status).toBe(401);
  });

  test('(e) is never compressed', async () => {
    const log = await openNumbered(1);
    const made = await stream(pathsOf(log)[0] ?? '', { headers: { 'accept-encoding': 'gzip' } });
    expect(made.response.headers.get('content-encoding')).toBeNull();
    await made.events(1);
  });
});

describe('a stream', () => {
  test('ends with its segment, and is not opened again', async () => {
    const log = await openNumbered(2);
    const [path = ''] = pathsOf(log);
    const seal = createTestApp({
      table: t.table,
      store: t.store,
      change: ({ consumer }) => ({
        consumer: {
          ...consumer,
          readSegment: async (topic, wanted, signal) => ({
            ...(await consumer.readSegment(topic, wanted, signal)),
            sealed: true,
            successors: [{ segment: 's0000009' as never, lo: 0, hi: 65_535 }],
          }),
        },
      }),
    });
    t = seal;
    const made = await stream(path);
    const events = await made.events(3);
    expect(events[2]).toMatchObject({ event: 'end', id: `${log.segment}:2` });
    expect(JSON.parse(events[2]?.data ?? '')).toEqual({ nextOffset: 2, successors: [{ segment: 's0000009', lo: 0, hi: 65535 }] });
    expect(await made.piece()).toBeUndefined();
    const again = await t.send('GET', path, { headers: { ...SSE, 'last-event-id': `${log.segment}:2` } });
    expect([again.status, again.text]).toEqual([204, '']);
  });

  test('that can’t go on says why, and what was read before stays', async () => {
    const log = await openNumbered(2);
    for (const path of pathsOf(log)) {
      const made = await stream(path);
      await made.events(2);
      if (path.includes('segments')) continue;
      await t.send('DELETE', `/v1/topics/${log.topic}`);
      const events = await made.events(3);
      expect(events[2]).toMatchObject({ event: 'problem' });
      expect(JSON.parse(events[2]?.data ?? '')).toMatchObject({ code: 'topic-not-found', status: 404 });
      expect(await made.piece()).toBeUndefined();
    }
  });

  test('ends without a word when the process stops, and gives its place back', async () => {
    const log = await openNumbered(1);
    const made = await stream(pathsOf(log)[0] ?? '');
    await made.events(1);
    t.stop();
    expect(await made.piece()).toBeUndefined();
    expect(made.text()).not.toContain('event:');
  });

  test('of a reader who has gone waits for nothing any more', async () => {
    const clock = createVirtualClock();
    t = createTestApp({ clock });
    const log = await openLog(t);
    const before = clock.sleeping();
    const made = await stream(pathsOf(log)[0] ?? '');
    await made.piece();
    void made.piece();
    await settle();
    expect(clock.sleeping()).toBeGreaterThan(before);
    await made.cut();
    await settle();
    expect(clock.sleeping()).toBe(before);
  });

  test('a slow reader holds one page and no more', async () => {
    let pages = 0;
    t = createTestApp({
      change: ({ consumer }) => ({
        consumer: {
          ...consumer,
          readSegment: (topic, wanted, signal) => (pages++, consumer.readSegment(topic, { ...wanted, messagesMax: 1 }, signal)),
        },
      }),
    });
    const log = await openNumbered(20);
    const made = await stream(pathsOf(log)[0] ?? '');
    await made.piece();
    await settle();
    expect(pages).toBeLessThanOrEqual(3);
    await made.events(20);
  });
});

test('as many readers wait as may, and the next one is told to come back', async () => {
  const log = await openLog(t);
  const many = createTestApp({ table: t.table, store: t.store });
  const first = await Promise.all(
    Array.from({ length: 4_096 }, async () => many.app.fetch(requestOf('GET', pathsOf(log)[0] ?? '', { headers: SSE }))),
  );
  const refused = await many.send('GET', pathsOf(log)[0] ?? '', { headers: SSE });
  expect([refused.status, refused.json.code, refused.json.reason]).toEqual([429, 'throttled', 'broker']);
  expect((await many.send('GET', `${pathsOf(log)[0]}?waitMs=1`)).status).toBe(429);
  await first[0]?.body?.cancel();
  const entered = await many.app.fetch(requestOf('GET', pathsOf(log)[0] ?? '', { headers: SSE }));
  expect(entered.status).toBe(200);
  for (const response of [...first.slice(1), entered]) await response.body?.cancel();
  expect((await many.send('GET', `${pathsOf(log)[0]}?waitMs=1`)).status).toBe(200);
});

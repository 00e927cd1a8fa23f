import { getEventListeners } from 'node:events';
import { createTail } from '../../src/consume/tail.ts';
import type { Head } from '../../src/model/head.ts';
import { describe, expect, test } from 'vitest';
import { TAIL_POLL_MS_MAX, TAIL_POLL_MS_MIN } from '../../src/model/limits.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId, type SegmentId } from '../../src/model/ids.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { SegmentPage } from '../../src/consume/page.ts';
import { calm, createLog, EVERYTHING, type Log, values } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };
const LONG = { ...EVERYTHING, waitMs: 25_000 };

/** An instance whose reads of the head are counted, and may fail. */
function createReader(log: Log) {
  const counts = { heads: 0 };
  let failure: Error | undefined;
  const table: MetadataTable = {
    ...log.table,
    get(key, signal) {
      counts.heads += 1;
      return failure === undefined ? log.table.get(key, signal) : Promise.reject(failure);
    },
  };
  return { ...log.instance({ table }), counts, fail: (error: Error | undefined) => (failure = error) };
}

/** What a promise has come to so far. */
function watch(promise: Promise<SegmentPage>) {
  const seen: { page?: SegmentPage; error?: unknown } = {};
  promise.then(
    (page) => (seen.page = page),
    (error: unknown) => (seen.error = error),
  );
  return seen;
}

const hasMessages = (head: Head): boolean => head.tail > 0;

const waitAt = (reader: Pick<Log, 'consumer'>, log: Log, segment: SegmentId, offset: number, signal: AbortSignal = calm()) =>
  reader.consumer.readSegment(log.topic, { segment, from: { offset }, ...LONG }, signal);

describe('J-20 waiting at the tail', () => {
  test('a publish of the same instance wakes all 200 readers at once, without a look at the table', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const waiting = Array.from({ length: 200 }, () => waitAt(log, log, segment, 0));
    await log.clock.advance(1);
    await log.write(segment, 'a');
    const pages = await Promise.all(waiting);
    for (const page of pages) expect(await values(log.consumer, page.slices)).toEqual(['a']);
    expect(log.clock.nowMs()).toBe(1_700_000_000_001);
    expect(log.clock.sleeping()).toBe(0);
  });

  test("another instance's publish is seen within a second, also late in a long wait, by one poller for all readers", async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    const waiting = Array.from({ length: 200 }, () => watch(waitAt(reader, log, segment, 0)));
    await log.clock.advance(20_000);
    const polls = reader.counts.heads - 200;
    expect(polls).toBeLessThan(20_000 / TAIL_POLL_MS_MAX + 10);
    await log.write(segment, 'a');
    await log.clock.advance(TAIL_POLL_MS_MAX);
    for (const seen of waiting) expect(seen.page?.nextOffset).toBe(1);
    expect(log.clock.sleeping()).toBe(0);
  });

  test('nothing published: an empty page when the time is over', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const seen = watch(waitAt(createReader(log), log, segment, 0));
    await log.clock.advance(24_999);
    expect(seen).toEqual({});
    await log.clock.advance(1);
    expect(seen.page).toMatchObject({ slices: [], nextOffset: 0, tail: 0, sealed: false });
    expect(log.clock.sleeping()).toBe(0);
  });

  test('a seal ends the wait at once, with its successors', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const successors = [{ segment: segmentId(1), ...ALL }];
    const seen = watch(waitAt(log, log, segment, 0));
    await log.clock.advance(10);
    await log.seal(segment, { successors });
    await log.clock.advance(0);
    expect(seen.page).toMatchObject({ slices: [], nextOffset: 0, sealed: true, successors });
  });

  test('J-23 a deletion of the topic ends the wait with its error, here and on another instance', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const here = watch(waitAt(log, log, segment, 0));
    const there = watch(waitAt(createReader(log), log, segment, 0));
    await log.clock.advance(10);
    await log.seal(segment, { deleted: true });
    await log.clock.advance(0);
    expect(here.error).toMatchObject({ kind: 'not-found', code: 'topic-not-found' });
    await log.clock.advance(TAIL_POLL_MS_MAX);
    expect(there.error).toMatchObject({ kind: 'not-found', code: 'topic-not-found' });
  });

  test('news that came between the look at the head and the wait end it at once', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, 'a');
    const waiting = createTail(log).wait([{ topic: log.topic.id, segment, isNews: hasMessages }], 25_000, calm());
    await log.clock.advance(0);
    expect(log.clock.sleeping()).toBe(0);
    expect(await waiting).toMatchObject({ tail: 1 });
  });

  test('a commit during the look at the head is not missed', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = log.instance({
      table: {
        ...log.table,
        async get(key, signal) {
          const before = await log.table.get(key, signal);
          await log.write(segment, 'a');
          const after = await log.head(segment);
          reader.heads.offer(after);
          return before;
        },
      },
    });
    const page = await waitAt(reader, log, segment, 0);
    expect(page.nextOffset).toBe(1);
    expect(log.clock.sleeping()).toBe(0);
  });
});

describe('a table that does not answer the poller', () => {
  const down = new KelpError('unavailable', 'table-unavailable', 'down');

  test('for a while: the wait goes on', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    const seen = watch(waitAt(reader, log, segment, 0));
    await log.clock.advance(0);
    reader.fail(down);
    await log.clock.advance(10_000);
    reader.fail(undefined);
    await log.write(segment, 'a');
    await log.clock.advance(TAIL_POLL_MS_MAX);
    expect(seen.page?.nextOffset).toBe(1);
  });

  test('for a while, and then nothing is published: an empty page', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    const seen = watch(waitAt(reader, log, segment, 0));
    await log.clock.advance(0);
    reader.fail(down);
    await log.clock.advance(10_000);
    reader.fail(undefined);
    await log.clock.advance(15_000);
    expect(seen.page).toMatchObject({ slices: [], nextOffset: 0 });
  });

  test('to the end: its error, since an empty page would say that there is nothing', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    const seen = watch(waitAt(reader, log, segment, 0));
    await log.clock.advance(0);
    reader.fail(down);
    await log.clock.advance(25_000);
    expect(seen.error).toBe(down);
  });

  test('with an error that stays: at once', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    const seen = watch(waitAt(reader, log, segment, 0));
    await log.clock.advance(0);
    const damaged = new KelpError('corrupt', 'corrupt', 'damaged');
    reader.fail(damaged);
    await log.clock.advance(TAIL_POLL_MS_MIN);
    expect(seen.error).toBe(damaged);
    expect(log.clock.sleeping()).toBe(0);
  });
});

describe('every wait ends with its caller', () => {
  test("with the signal's own reason, while the others wait on", async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const controller = new AbortController();
    const [left, stays] = [watch(waitAt(log, log, segment, 0, controller.signal)), watch(waitAt(log, log, segment, 0))];
    await log.clock.advance(10);
    const reason = new DOMException('late', 'TimeoutError');
    controller.abort(reason);
    await log.clock.advance(0);
    expect(left.error).toBe(reason);
    expect(stays).toEqual({});
    await log.write(segment, 'a');
    await log.clock.advance(0);
    expect(stays.page?.nextOffset).toBe(1);
  });

  test('aborted beforehand: no store is asked', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    await expect(waitAt(reader, log, segment, 0, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    expect(log.clock.sleeping()).toBe(0);
  });

  test('1,000 aborted waits leave no timer, no listener, no poller', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const reader = createReader(log);
    const long = new AbortController();
    for (let wait = 0; wait < 1_000; wait += 1) {
      const controller = new AbortController();
      const seen = watch(
        waitAt(reader, log, segment, 0, wait % 2 === 0 ? controller.signal : AbortSignal.any([controller.signal, long.signal])),
      );
      await Promise.resolve();
      if (wait % 3 === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      controller.abort(new Error('enough'));
      await new Promise<void>((resolve) => setImmediate(resolve));
      expect(seen.error).toEqual(new Error('enough'));
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    }
    expect(log.clock.sleeping()).toBe(0);
    const polls = reader.counts.heads;
    await log.clock.advance(10_000);
    expect(reader.counts.heads).toBe(polls);
    const page = watch(waitAt(reader, log, segment, 0, long.signal));
    await log.clock.advance(25_000);
    expect(page.page?.nextOffset).toBe(0);
    expect(getEventListeners(long.signal, 'abort')).toHaveLength(0);
  });
});

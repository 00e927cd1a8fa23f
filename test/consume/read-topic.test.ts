import { describe, expect, test } from 'vitest';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import { KelpError } from '../../src/model/errors.ts';
import { READ_GAP_BYTES_MAX, TAIL_POLL_MS_MAX } from '../../src/model/limits.ts';
import { archive } from './archived-log.ts';
import { calm, createLog, createTopic, drain, EVERYTHING, type Log, message, readTopic, values } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };
const halves = [
  { lo: 0, hi: 32_767 },
  { lo: 32_768, hi: 65_535 },
];
const LONG = { ...EVERYTHING, waitMs: 25_000 };

/** Segments that tile all partitions. */
async function many(log: Log, count: number): Promise<SegmentId[]> {
  const segments: SegmentId[] = [];
  for (let n = 0; n < count; n += 1) {
    segments.push(await log.make({ lo: (n * 65_536) / count, hi: ((n + 1) * 65_536) / count - 1 }));
  }
  return segments;
}

describe('many segments', () => {
  test('a busy segment does not starve the others, whose news come from other instances', async () => {
    const log = createLog();
    const segments = await many(log, 32);
    const [busy, ...others] = segments;
    if (busy === undefined) throw new Error('no segment');
    let { cursor } = await readTopic(log, 'latest');
    for (const segment of others) await log.append({ segment, batches: [[message('late')]], elsewhere: true });
    const seen = new Set<string>();
    for (let page = 0; page < 40; page += 1) {
      await log.write(busy, ...Array.from({ length: 20 }, (_, n) => `${n}`));
      const read = await readTopic(log, cursor, { messagesMax: 10, bytesMax: 10_000, waitMs: 0 });
      ({ cursor } = read);
      for (const slice of read.slices) seen.add(slice.segment);
    }
    expect(seen.size).toBe(32);
  });

  test.each([
    ['messages', { messagesMax: 10, bytesMax: 100_000, waitMs: 0 }],
    ['bytes', { messagesMax: 1_000, bytesMax: 1_010, waitMs: 0 }],
  ])('a page has a share of each, in %s', async (_, bounds) => {
    const log = createLog();
    const segments = await many(log, 2);
    for (const segment of segments) {
      for (const compress of [true, false]) {
        await log.append({ segment, batches: [Array.from({ length: 50 }, () => message('x'.repeat(100)))], compress });
      }
    }
    const { slices } = await readTopic(log, 'earliest', bounds);
    const counts = segments.map((segment) =>
      slices.filter((slice) => slice.segment === segment).reduce((sum, { from, to }) => sum + to - from, 0),
    );
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(4);
    expect(Math.max(...counts)).toBeLessThanOrEqual(6);
  });

  test('while many are busy, each gets its turn', async () => {
    const log = createLog();
    const segments = await many(log, 32);
    for (const segment of segments) await log.write(segment, ...Array.from({ length: 50 }, (_, n) => `${n}`));
    const counts = new Map<string, number>();
    let cursor = 'earliest';
    for (let page = 0; page < 32; page += 1) {
      const read = await readTopic(log, cursor, { messagesMax: 10, bytesMax: 10_000, waitMs: 0 });
      ({ cursor } = read);
      for (const slice of read.slices) counts.set(slice.segment, (counts.get(slice.segment) ?? 0) + slice.to - slice.from);
    }
    expect(counts.size).toBe(32);
    const taken = [...counts.values()];
    expect(Math.max(...taken) - Math.min(...taken)).toBeLessThanOrEqual(20);
  });

  test('batches of one object for many segments come with few GETs', async () => {
    const log = createLog();
    const segments = await many(log, 8);
    await log.append(...segments.map((segment) => ({ segment, batches: [[message(segment)]] })));
    let gets = 0;
    const store = { ...log.store, getRange: (...get: Parameters<typeof log.store.getRange>) => ((gets += 1), log.store.getRange(...get)) };
    const { consumer } = log.instance({ store });
    const { read } = await drain(log, 'earliest', EVERYTHING, consumer);
    expect(read).toHaveLength(8);
    expect(gets).toBe(1);
  });

  test('a gap between runs of one object is read over by a reader of the topic, and not by one of a segment', async () => {
    const log = createLog();
    const [left, right] = await many(log, 2);
    if (left === undefined || right === undefined) throw new Error('no segment');
    const wide = message('x'.repeat(READ_GAP_BYTES_MAX + 1));
    await log.append(
      { segment: left, batches: [[message('a')], [wide], [message('b')]], skip: [1] },
      { segment: right, batches: [[message('c')]] },
    );
    let gets = 0;
    const store = { ...log.store, getRange: (...get: Parameters<typeof log.store.getRange>) => ((gets += 1), log.store.getRange(...get)) };
    const { read } = await drain(log, 'earliest', EVERYTHING, log.instance({ store }).consumer);
    expect(read).toHaveLength(3);
    expect(gets).toBe(1);
    gets = 0;
    await log.instance({ store }).consumer.readSegment(log.topic, { segment: left, from: 'earliest', ...EVERYTHING }, calm());
    expect(gets).toBe(2);
  });

  test('"nothing" is answered only after every segment was asked', async () => {
    const log = createLog();
    const segments = await many(log, 64);
    const reader = log.instance();
    const { cursor } = await readTopic(log, 'latest', EVERYTHING, reader.consumer);
    for (const segment of segments) {
      await log.write(segment, segment);
      const page = await readTopic(log, cursor, EVERYTHING, log.instance().consumer);
      expect(page.slices.length).toBeGreaterThan(0);
    }
  });
});

describe('waiting for news of a topic', () => {
  test('ends on the first one, of this instance at once, of another within a second, and leaves nothing behind', async () => {
    const log = createLog();
    const [left, right] = [await log.make(halves[0] ?? ALL), await log.make(halves[1] ?? ALL)];
    const reader = log.instance();
    const here = readTopic(log, 'latest', LONG);
    const there = readTopic(log, 'latest', LONG, reader.consumer);
    await log.clock.advance(3_000);
    await log.write(right, 'a');
    expect(await values(log.consumer, (await here).slices)).toEqual(['a']);
    await log.clock.advance(TAIL_POLL_MS_MAX);
    const page = await there;
    expect(await values(reader.consumer, page.slices)).toEqual(['a']);
    expect(log.clock.sleeping()).toBe(0);
    await log.write(left, 'b');
    expect(await values(log.consumer, (await readTopic(log, page.cursor)).slices)).toEqual(['b']);
  });

  test('a split in the middle of a wait is followed within the wait', async () => {
    const log = createLog();
    const root = await log.make(ALL);
    const waiting = readTopic(log, 'latest', LONG);
    await log.clock.advance(1_000);
    const children = [await log.make(halves[0] ?? ALL, [root]), await log.make(halves[1] ?? ALL, [root])];
    await log.seal(root, { successors: children.map((segment, index) => ({ segment, ...(halves[index] ?? ALL) })) });
    await log.clock.advance(1_000);
    await log.write(children[1] ?? root, 'a');
    expect(await values(log.consumer, (await waiting).slices)).toEqual(['a']);
    expect(log.clock.sleeping()).toBe(0);
  });

  test('ends with an empty page and a cursor when the time is over, and with the signal', async () => {
    const log = createLog();
    const root = await log.make(ALL);
    const waiting = readTopic(log, 'latest', LONG);
    await log.clock.advance(25_000);
    const page = await waiting;
    expect(page.slices).toEqual([]);
    await log.write(root, 'a');
    expect(await values(log.consumer, (await readTopic(log, page.cursor)).slices)).toEqual(['a']);
    const controller = new AbortController();
    const aborted = log.consumer.readTopic(log.topic, { cursor: 'latest', ...LONG }, controller.signal);
    await log.clock.advance(10);
    controller.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    expect(log.clock.sleeping()).toBe(0);
  });

  test('J-23 a deletion ends it with its error', async () => {
    const log = createLog();
    const root = await log.make(ALL);
    const page = await readTopic(log, 'latest');
    const waiting = readTopic(log, 'latest', LONG);
    await log.clock.advance(10);
    await log.seal(root, { deleted: true });
    await expect(waiting).rejects.toMatchObject({ kind: 'not-found', code: 'topic-not-found' });
    await expect(readTopic(log, page.cursor)).rejects.toMatchObject({ code: 'topic-not-found' });
    await expect(readTopic(log, 'earliest')).rejects.toMatchObject({ code: 'topic-not-found' });
    await expect(readTopic(log, 'latest')).rejects.toMatchObject({ code: 'topic-not-found' });
  });
});

describe('cursors', () => {
  test('J-23 of a deleted topic whose name was used again: refused at once, though it would have to wait', async () => {
    const before = createLog({ topic: createTopic({ id: 'tbbbbbbbbbbbbbbb' as TopicId }) });
    await before.write(await before.make(ALL), 'a');
    const { cursor } = await readTopic(before, 'earliest');
    const after = createLog({ topic: createTopic({ firstSegment: 1 }) });
    await after.make(ALL);
    await expect(readTopic(after, cursor, LONG)).rejects.toMatchObject({ kind: 'not-found', code: 'topic-replaced' });
    expect(after.clock.sleeping()).toBe(0);
  });

  test('words that are no cursor', async () => {
    const log = createLog();
    await log.make(ALL);
    const wrong = [
      '',
      'Earliest',
      'timestamp:',
      'timestamp:-1',
      'timestamp:1.5',
      'timestamp:1e3',
      'timestamp: 1',
      'timestamp:253402300800000',
    ];
    for (const cursor of wrong)
      await expect(readTopic(log, cursor)).rejects.toMatchObject({ kind: 'invalid', code: 'invalid-cursor', field: 'cursor' });
    expect((await readTopic(log, 'timestamp:253402300799999')).slices).toEqual([]);
  });

  test('F18 a damaged segment does not hide the others; alone, it is an error that names it', async () => {
    const log = createLog();
    const [left, right] = [await log.make(halves[0] ?? ALL), await log.make(halves[1] ?? ALL)];
    const broken = await log.write(left, 'a');
    await log.write(right, 'b');
    await log.damage(broken.key, (bytes) => bytes.subarray(0, 40));
    const page = await readTopic(log, 'earliest');
    expect(await values(log.consumer, page.slices)).toEqual(['b']);
    const error = await readTopic(log, page.cursor, LONG).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(KelpError);
    expect(error).toMatchObject({ kind: 'corrupt', extra: { topic: 'orders', segment: left, offset: 0, object: broken.key } });
    await log.write(right, 'c');
    expect(await values(log.consumer, (await readTopic(log, page.cursor)).slices)).toEqual(['c']);
  });

  test('F18 more damaged segments than are read side by side', async () => {
    const log = createLog();
    const segments = await many(log, 16);
    for (const segment of segments.slice(0, -1)) {
      const { key } = await log.write(segment, 'damaged');
      await log.damage(key, (bytes) => bytes.subarray(0, 40));
    }
    for (const segment of segments.slice(-1)) await log.write(segment, 'whole');
    expect(await values(log.consumer, (await readTopic(log, 'earliest')).slices)).toEqual(['whole']);
  });

  test('a reader whose place was cut off goes on at the start', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, 'a', 'b', 'c');
    const first = await readTopic(log, 'earliest', { messagesMax: 1, bytesMax: 100, waitMs: 0 });
    await log.spill(segment);
    await archive(log, segment, { next: 2, state: 'dropped' });
    expect(await values(log.consumer, (await readTopic(log, first.cursor)).slices)).toEqual(['c']);
    expect(await values(log.consumer, (await readTopic(log, 'earliest')).slices)).toEqual(['c']);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BatchPlace } from '../../src/consume/page.ts';
import { BATCH_HEADER_BYTES, readBatchHeader } from '../../src/format/record-batch-header.ts';
import { READ_GAP_BYTES_MAX } from '../../src/model/limits.ts';
import { BATCH_HEADERS_PARALLEL_MAX, HEADERS_KNOWN_MAX } from '../../src/model/upload-limits.ts';
import { createKnownHeaders } from '../../src/consume/known-headers.ts';
import { calm, createLog, EVERYTHING, type Log, message, messages } from './fixture.ts';
import { appendUpload, find } from './uploaded.ts';
import { commits, writeHistory } from './uploaded-history.ts';

const ALL = { lo: 0, hi: 65_535 };
type Segment = Parameters<Log['write']>[0];

const sizes = fc.record({
  messagesMax: fc.integer({ min: 1, max: 8 }),
  bytesMax: fc.integer({ min: 1, max: 600 }),
  batchesMax: fc.integer({ min: 1, max: 4 }),
});

const locateAt = (log: Log, segment: Segment, offset: number, consumer = log.consumer) =>
  consumer.locateSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());

/** A reader of its own, and the bytes of each of its reads. */
function countedReader(log: Log) {
  const reads: number[] = [];
  const { consumer } = log.instance({
    store: {
      ...log.store,
      async getRange(...get) {
        const bytes = await log.store.getRange(...get);
        reads.push(bytes.length);
        return bytes;
      },
    },
  });
  return { consumer, reads };
}

const bytesOf = (log: Log, { object, start, bytes }: BatchPlace) => log.store.getRange(object, start, bytes, calm());

describe('batches by where they lie', () => {
  test('any history, any page: what lies there is what whole batches are, from the same place on', async () => {
    await fc.assert(
      fc.asyncProperty(commits, sizes, fc.nat({ max: 6 }), async (history, size, begin) => {
        const log = createLog();
        const { segment, tail } = await writeHistory(log, history);
        const first = Math.min(begin, tail);
        const whole = await log.consumer.readSegment(
          log.topic,
          { segment, from: { offset: first }, ...EVERYTHING, wholeBatches: true },
          calm(),
        );
        const places: BatchPlace[] = [];
        for (let offset = first; offset < tail;) {
          const page = await log.consumer.locateSegment(log.topic, { segment, from: { offset }, waitMs: 0, ...size }, calm());
          expect(page.nextOffset).toBeGreaterThan(offset);
          expect(page.slices.length).toBeLessThanOrEqual(size.batchesMax);
          if (page.slices.length > 1) {
            expect(page.slices.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(size.bytesMax);
            expect(page.slices.reduce((sum, { from, to }) => sum + to - from, 0)).toBeLessThanOrEqual(size.messagesMax);
          }
          places.push(...page.slices);
          offset = page.nextOffset;
        }
        expect(places.map(({ baseOffset, count, from, to }) => [baseOffset, count, from, to])).toEqual(
          whole.slices.map(({ baseOffset, count, from, to }) => [baseOffset, count, from, to]),
        );
        for (const [index, place] of places.entries()) {
          const bytes = await bytesOf(log, place);
          expect(Buffer.compare(bytes, whole.slices[index]?.bytes ?? Buffer.of())).toBe(0);
          expect(readBatchHeader(bytes).crc).toBe(place.crc);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('of a topic, by a cursor that comes from a page of messages and goes on to one', async () => {
    const log = createLog();
    const left = await log.make({ lo: 0, hi: 99 });
    const right = await log.make({ lo: 100, hi: 65_535 });
    await log.append({ segment: left, batches: [messages('a', 'b', 'c')] }, { segment: right, batches: [messages('d', 'e')] });
    const page = await log.consumer.readTopic(log.topic, { cursor: 'earliest', messagesMax: 2, bytesMax: 1_000, waitMs: 0 }, calm());
    const located = await log.consumer.locateTopic(log.topic, { cursor: page.cursor, ...EVERYTHING }, calm());
    expect(located.slices.map(({ segment, baseOffset, count, from, to }) => [segment, baseOffset, count, from, to]).toSorted()).toEqual([
      [left, 0, 3, 1, 3],
      [right, 0, 2, 1, 2],
    ]);
    await log.write(right, 'f');
    const next = await log.consumer.locateTopic(log.topic, { cursor: located.cursor, ...EVERYTHING }, calm());
    expect(next.slices.map(({ segment, from, to }) => [segment, from, to])).toEqual([[right, 2, 3]]);
  });

  test('from a time on, from the tail on, and once something comes', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const at = (...times: number[]) => times.map((timestampMs) => message(`${timestampMs}`, { timestampMs }));
    await log.append({ segment, batches: [at(10, 20, 30)] });
    const locate = (from: 'latest' | { readonly timestampMs: number }, waitMs = 0) =>
      log.consumer.locateSegment(log.topic, { segment, from, ...EVERYTHING, waitMs }, calm());
    expect(await locate({ timestampMs: 15 })).toMatchObject({ offset: 1, nextOffset: 3, slices: [{ baseOffset: 0, from: 1, to: 3 }] });
    expect(await locate('latest')).toMatchObject({ offset: 3, nextOffset: 3, slices: [] });
    const waiting = locate('latest', 10_000);
    await log.clock.advance(1_000);
    await log.write(segment, 'x');
    expect(await waiting).toMatchObject({ offset: 3, nextOffset: 4, slices: [{ from: 3, to: 4 }] });
  });
});

describe('reads of headers', () => {
  test('many small batches come with one, large ones cost their headers alone, and none is read twice', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.append({ segment, batches: Array.from({ length: 50 }, (_, index) => messages(`${index}`)) });
    const small = countedReader(log);
    expect((await locateAt(log, segment, 0, small.consumer)).slices).toHaveLength(50);
    expect(small.reads).toHaveLength(1);
    const large = message('x'.repeat(READ_GAP_BYTES_MAX + 1));
    await log.append({ segment, batches: [[large], [large], [large]] });
    const { consumer, reads } = countedReader(log);
    expect((await locateAt(log, segment, 50, consumer)).slices).toHaveLength(3);
    expect(reads).toEqual([BATCH_HEADER_BYTES, BATCH_HEADER_BYTES, BATCH_HEADER_BYTES]);
    expect((await locateAt(log, segment, 51, consumer)).slices).toHaveLength(2);
    expect(reads).toHaveLength(3);
  });

  test('of a long run of small batches come in windows', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const uploaded = await appendUpload(log, segment, { batches: Array.from({ length: 200 }, () => [message('x'.repeat(10_000))]) });
    const { consumer, reads } = countedReader(log);
    expect((await locateAt(log, segment, 0, consumer)).slices).toHaveLength(200);
    expect(reads.length).toBeLessThanOrEqual(4);
    expect(reads[0]).toBe(BATCH_HEADER_BYTES);
    // All of it is quarantined: nobody looks into it.
    await find(log, uploaded, { checked: true, bad: [...uploaded.counts.keys()] });
    const none = countedReader(log);
    expect(await locateAt(log, segment, 0, none.consumer)).toMatchObject({ slices: [], nextOffset: 200 });
    expect(none.reads).toEqual([]);
  });

  test('of several runs are read side by side, as far as the page has room for them, and none behind its answer', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const large = message('x'.repeat(READ_GAP_BYTES_MAX + 1));
    for (let commit = 0; commit < 12; commit += 1) await log.append({ segment, batches: [[large], [large], [large]] });
    let underWay = 0;
    let most = 0;
    let reads = 0;
    const { consumer } = log.instance({
      store: {
        ...log.store,
        async getRange(...get) {
          underWay += 1;
          reads += 1;
          most = Math.max(most, underWay);
          await new Promise((resolve) => setImmediate(resolve));
          const bytes = await log.store.getRange(...get);
          underWay -= 1;
          return bytes;
        },
      },
    });
    const few = await consumer.locateSegment(
      log.topic,
      { segment, from: 'earliest', messagesMax: 3, bytesMax: 1_000_000, waitMs: 0 },
      calm(),
    );
    expect([few.slices.length, most, reads, underWay]).toEqual([3, 1, 3, 0]);
    const all = await locateAt(log, segment, 0, consumer);
    expect([all.slices.length, most, reads]).toEqual([36, BATCH_HEADERS_PARALLEL_MAX, 36]);
  });

  test('of many segments in one object come together', async () => {
    const log = createLog();
    const segments: Segment[] = [];
    for (let n = 0; n < 8; n += 1) segments.push(await log.make({ lo: n * 8_192, hi: (n + 1) * 8_192 - 1 }));
    await log.append(...segments.map((segment) => ({ segment, batches: [messages('a'), messages('b')] })));
    const { consumer, reads } = countedReader(log);
    const page = await consumer.locateTopic(log.topic, { cursor: 'earliest', ...EVERYTHING }, calm());
    expect(page.slices).toHaveLength(16);
    expect(reads).toHaveLength(1);
  });

  test('what is known of them is bounded, the oldest goes', () => {
    const known = createKnownHeaders(10);
    const headers = (length: number) => Array.from({ length }, () => ({ start: 0, bytes: 1, count: 1, crc: 0 }));
    const run = (key: string) => ({ key, start: 0, length: 1 });
    known.add(run('a'), headers(4));
    known.add(run('b'), headers(4));
    expect(known.get(run('a'))).toHaveLength(4);
    known.add(run('c'), headers(4));
    expect(['a', 'b', 'c'].map((key) => known.get(run(key))?.length)).toEqual([4, undefined, 4]);
    known.add(run('d'), headers(11));
    expect(['a', 'c', 'd'].map((key) => known.get(run(key))?.length)).toEqual([undefined, undefined, undefined]);
    expect(HEADERS_KNOWN_MAX).toBeGreaterThan(2_000);
  });
});

describe('F18 a damaged header', () => {
  test('of a batch, in any field that the index or the format knows: an error that names the run, and what comes behind', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, 'a');
    const [appended] = await log.append({ segment, batches: [messages('b', 'c'), messages('d')] });
    await log.write(segment, 'e');
    if (appended === undefined) throw new Error('nothing was appended');
    const { key, starts } = appended;
    const extra = { topic: 'orders', segment, offset: 1, nextOffset: 4, object: key };
    // Length, magic, attributes, last offset delta, count.
    for (const at of [8, 11, 16, 21, 22, 26, 57, 60]) {
      const flip = (bytes: Uint8Array) => bytes.map((byte, index) => (index === (starts[1] ?? 0) + at ? byte ^ 0x41 : byte));
      await log.damage(key, flip);
      const { consumer } = log.instance();
      expect((await locateAt(log, segment, 0, consumer)).nextOffset).toBe(1);
      await expect(locateAt(log, segment, 1, consumer)).rejects.toMatchObject({ kind: 'corrupt', code: 'corrupt', extra });
      expect((await locateAt(log, segment, 4, consumer)).slices).toMatchObject([{ from: 4, to: 5 }]);
      await log.damage(key, flip);
    }
    expect((await locateAt(log, segment, 0, log.instance().consumer)).nextOffset).toBe(5);
  });

  test('counts that fit their batch and not the index leave no offset of the run certain', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const [appended] = await log.append({ segment, batches: [messages('a', 'b'), messages('c')] });
    if (appended === undefined) throw new Error('nothing was appended');
    const place = appended.starts[1] ?? 0;
    await log.damage(appended.key, (bytes) => bytes.map((byte, at) => (at === place + 26 || at === place + 60 ? byte + 1 : byte)));
    const extra = { offset: 0, nextOffset: 3, object: appended.key };
    await expect(locateAt(log, segment, 0)).rejects.toMatchObject({ code: 'corrupt', extra });
  });

  test('an object that ends early, and one that is gone', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const [appended] = await log.append({ segment, batches: [messages('a'), messages('b')] });
    if (appended === undefined) throw new Error('nothing was appended');
    const extra = { offset: 0, nextOffset: 2, object: appended.key };
    await log.damage(appended.key, (bytes) => bytes.subarray(0, (appended.starts[1] ?? 0) + 60));
    await expect(locateAt(log, segment, 0)).rejects.toMatchObject({ code: 'corrupt', extra });
    await log.store.delete(appended.key, calm());
    await expect(locateAt(log, segment, 0)).rejects.toMatchObject({ code: 'corrupt', extra });
  });
});

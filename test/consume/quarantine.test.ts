import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { createQuarantine, isTouched, isWithin, passedOver } from '../../src/consume/quarantine.ts';
import { uploadKey } from '../../src/format/item-key.ts';
import { uploadId } from '../../src/model/ids.ts';
import { READ_RANGE_BYTES_MAX, READ_ROUNDS_MAX } from '../../src/model/limits.ts';
import { QUARANTINE_KNOWN_MS_MAX, QUARANTINES_KNOWN_MAX } from '../../src/model/upload-limits.ts';
import { calm, createLog, drain, EVERYTHING, type Log, message, messages, shown, values } from './fixture.ts';
import { appendUpload, find } from './uploaded.ts';
import { commits, spoil, writeHistory } from './uploaded-history.ts';

const ALL = { lo: 0, hi: 65_535 };

const sizes = fc.record({
  messagesMax: fc.integer({ min: 1, max: 6 }),
  bytesMax: fc.integer({ min: 1, max: 400 }),
  wholeBatches: fc.boolean(),
});

/** Item reads of the table. */
function countingLog() {
  const log = createLog();
  const gets: string[] = [];
  const table = { ...log.table, get: (...get: Parameters<typeof log.table.get>) => (gets.push(get[0].pk), log.table.get(...get)) };
  const uploadsRead = (): number => gets.filter((pk) => pk.startsWith('u#')).length;
  return { log, ...log.instance({ table }), uploadsRead };
}

const readAt = (log: Log, segment: Parameters<typeof log.write>[0], offset: number, consumer = log.consumer) =>
  consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());

describe('quarantined batches', () => {
  test('any history, any page: everything else is read in order, nothing of them, and pages go on behind them', async () => {
    await fc.assert(
      fc.asyncProperty(commits, sizes, async (history, size) => {
        const telemetry = createRecordingTelemetry();
        const log = createLog({ telemetry });
        const { segment, good, passed, tail } = await writeHistory(log, history);
        const read: string[] = [];
        for (let offset = 0; offset < tail;) {
          const page = await log.consumer.readSegment(log.topic, { segment, from: { offset }, waitMs: 0, ...size }, calm());
          expect(page.nextOffset).toBeGreaterThan(offset);
          expect(page).toMatchObject({ offset, unchecked: false });
          read.push(...(await shown(log.consumer, page.slices)));
          offset = page.nextOffset;
        }
        expect(read).toEqual(good.map((text) => `${segment}:${text}`));
        expect(telemetry.total('kelp.read.quarantined')).toBe(passed);
        const topic = await drain(log, 'earliest', { waitMs: 0, ...size });
        expect(topic.read).toEqual(read);
      }),
      { numRuns: 150 },
    );
  });

  test('of nothing else: the page is empty and its end is the tail, and a topic waits there for news', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const uploaded = await appendUpload(log, segment, { batches: [messages('a', 'b'), messages('c')] });
    await find(log, uploaded, { checked: true, bad: [0, 1] });
    await log.store.delete(uploaded.key, calm());
    expect(await readAt(log, segment, 0)).toMatchObject({ slices: [], offset: 0, nextOffset: 3, tail: 3 });
    const waiting = log.consumer.readTopic(log.topic, { cursor: 'earliest', ...EVERYTHING, waitMs: 25_000 }, calm());
    await log.clock.advance(1_000);
    await log.write(segment, 'd');
    expect(await values(log.consumer, (await waiting).slices)).toEqual(['d']);
  });

  test('of a topic are passed over however many they are: an empty page means that nothing is there', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (let n = 0; n < 2 * READ_ROUNDS_MAX; n += 1) {
      await find(log, await appendUpload(log, segment, { batches: [messages(`${n}`)] }), { checked: true, bad: [0] });
    }
    await log.write(segment, 'x');
    const page = await log.consumer.readTopic(log.topic, { cursor: 'earliest', ...EVERYTHING, messagesMax: 1 }, calm());
    expect(await values(log.consumer, page.slices)).toEqual(['x']);
  });

  test('a seek by time goes on behind them, though the index names their time', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const late = messages('late').map((one) => ({ ...one, timestampMs: 90 }));
    const uploaded = await appendUpload(log, segment, { batches: [late, messages('x')] });
    await find(log, uploaded, { checked: true, bad: [0] });
    await log.append({ segment, batches: [messages('found').map((one) => ({ ...one, timestampMs: 80 }))] });
    const page = await log.consumer.readSegment(log.topic, { segment, from: { timestampMs: 70 }, ...EVERYTHING }, calm());
    expect(page.offset).toBe(2);
    expect(await values(log.consumer, page.slices)).toEqual(['found']);
  });
});

test('a seek by time looks into a large upload piece by piece, as far as the message', async () => {
  const log = createLog();
  const segment = await log.make(ALL);
  const large = (timestampMs: number) => [message('x'.repeat(READ_RANGE_BYTES_MAX / 2), { timestampMs })];
  const uploaded = await appendUpload(log, segment, { batches: Array.from({ length: 16 }, (_, time) => large(time + 1)), perRun: 1 });
  await find(log, uploaded, { checked: true, bad: [] });
  let bytes = 0;
  const getRange: typeof log.store.getRange = async (...get) => {
    const got = await log.store.getRange(...get);
    bytes += got.length;
    return got;
  };
  const { consumer } = log.instance({ store: { ...log.store, getRange } });
  const located = await consumer.locateSegment(log.topic, { segment, from: { timestampMs: 3 }, ...EVERYTHING, messagesMax: 1 }, calm());
  expect(located.offset).toBe(2);
  expect(bytes).toBeLessThan(3 * READ_RANGE_BYTES_MAX);
});

describe('what is known of an upload', () => {
  test('is read once when all was looked at, else again after a while; a page with what was not says so', async () => {
    const { log, consumer, uploadsRead } = countingLog();
    const segment = await log.make(ALL);
    const uploaded = await appendUpload(log, segment, { batches: [messages('a'), messages('b')] });
    await log.write(segment, 'c');
    const read = async (offset: number) => {
      const page = await readAt(log, segment, offset, consumer);
      return [page.unchecked, ...(await values(consumer, page.slices))];
    };
    expect(await read(0)).toEqual([true, 'a', 'b', 'c']);
    expect(await read(2)).toEqual([false, 'c']);
    await find(log, uploaded, { checked: true, bad: [1] });
    expect(await read(0)).toEqual([true, 'a', 'b', 'c']);
    expect(uploadsRead()).toBe(1);
    await log.clock.advance(QUARANTINE_KNOWN_MS_MAX);
    expect(await read(0)).toEqual([false, 'a', 'c']);
    await log.clock.advance(86_400_000);
    expect(await read(0)).toEqual([false, 'a', 'c']);
    expect(uploadsRead()).toBe(2);
  });

  test('is asked for again where something is damaged: it may have been found meanwhile', async () => {
    const { log, consumer } = countingLog();
    const segment = await log.make(ALL);
    const uploaded = await appendUpload(log, segment, { batches: [messages('a'), messages('b'), messages('c')] });
    await spoil(log, uploaded, 1);
    expect(await values(consumer, (await readAt(log, segment, 0, consumer)).slices)).toEqual(['a']);
    await expect(readAt(log, segment, 1, consumer)).rejects.toMatchObject({ code: 'corrupt', extra: { offset: 1, object: uploaded.key } });
    await find(log, uploaded, { checked: false, bad: [1] });
    const page = await readAt(log, segment, 1, consumer);
    expect(await values(consumer, page.slices)).toEqual(['c']);
    expect(page.unchecked).toBe(true);
  });

  test('is forgotten again where it is of many', async () => {
    const log = createLog();
    const { upload } = await appendUpload(log, await log.make(ALL), { batches: [messages('a')] });
    const item = await log.table.get(uploadKey(log.topic.id, upload), calm());
    const asked: string[] = [];
    const get: typeof log.table.get = async ({ sk }) => (asked.push(sk), item);
    const quarantine = createQuarantine({ table: { ...log.table, get }, clock: log.clock });
    const ids = Array.from({ length: QUARANTINES_KNOWN_MAX + 1 }, (_, n) => uploadId(n * 60_000, '000000000'));
    for (const id of ids) await quarantine.of(log.topic.id, id, calm());
    asked.length = 0;
    for (const id of ids.toReversed()) await quarantine.of(log.topic.id, id, calm());
    expect(asked).toEqual(ids.slice(0, 1));
  });

  test('an upload without its item is damage that is named, since nobody knows what was found in it', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const uploaded = await appendUpload(log, segment, { batches: [messages('a', 'b')] });
    await log.table.delete(uploadKey(log.topic.id, uploaded.upload), [], calm());
    const extra = { topic: 'orders', segment, offset: 0, nextOffset: 2, object: uploaded.key };
    await expect(readAt(log, segment, 0)).rejects.toMatchObject({ code: 'corrupt', extra });
  });

  test('ranges: in order, apart, whatever their order was; what touches one and what lies within', () => {
    const pairs = fc.array(fc.record({ first: fc.nat({ max: 30 }), count: fc.integer({ min: 1, max: 6 }) }), { maxLength: 6 });
    fc.assert(
      fc.property(pairs, fc.nat({ max: 100 }), fc.nat({ max: 140 }), fc.integer({ min: 1, max: 5 }), (quarantined, first, from, length) => {
        const ranges = passedOver({ checked: true, quarantined }, first);
        const bad = new Set(quarantined.flatMap((each) => Array.from({ length: each.count }, (_, at) => first + each.first + at)));
        expect(ranges.flatMap((each) => Array.from({ length: each.to - each.from }, (_, at) => each.from + at))).toEqual(
          [...bad].toSorted((a, b) => a - b),
        );
        const span = Array.from({ length }, (_, at) => from + at);
        expect(isTouched(ranges, { from, to: from + length })).toBe(span.some((at) => bad.has(at)));
        expect(isWithin(ranges, { from, to: from + length })).toBe(span.every((at) => bad.has(at)));
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Consumer, ReadBounds, SegmentPage } from '../../src/consume/page.ts';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import type { StoredMessage } from '../../src/model/message.ts';
import { archive } from './archived-log.ts';
import { calm, createLog, createTopic, EVERYTHING, type Log, message, messages, shown, values } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };

async function decoded(consumer: Consumer, page: SegmentPage): Promise<StoredMessage[]> {
  return (await Promise.all(page.slices.map((slice) => consumer.decode(slice)))).flat();
}

/** What passes the page's bounds; the first message, or the first batch, always may. */
function excessOf(page: SegmentPage, stored: readonly StoredMessage[], bounds: Omit<ReadBounds, 'waitMs'>): string[] {
  if (bounds.wholeBatches === true) {
    const bytes = page.slices.slice(1).reduce((sum, slice) => sum + slice.bytes.length, page.slices[0]?.bytes.length ?? 0);
    const cut = page.slices.filter((slice) => slice.to !== slice.baseOffset + slice.count);
    return [...cut.map(() => 'not whole'), ...(page.slices.length > 1 && bytes > bounds.bytesMax ? [`${bytes} bytes`] : [])];
  }
  const bytes = stored.reduce((sum, one) => sum + one.key.length + (one.value?.length ?? 0), 0);
  return [
    ...(stored.length > bounds.messagesMax ? [`${stored.length} messages`] : []),
    ...(stored.length > 1 && bytes > bounds.bytesMax ? [`${bytes} bytes`] : []),
  ];
}

async function oneSegment(log: Log): Promise<SegmentId> {
  return log.make(ALL);
}

describe('reading a segment by offset', () => {
  test('gives every message from the offset on, whether its entry is in the head, in pages or in both', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.write(segment, 'a', 'b', 'c');
    await log.spill(segment);
    await log.write(segment, 'd');
    await log.write(segment, 'e', 'f');
    await log.spill(segment);
    await log.write(segment, 'g');
    for (let offset = 0; offset <= 7; offset += 1) {
      const page = await log.consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
      expect(await values(log.consumer, page.slices)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].slice(offset));
      expect(page).toMatchObject({ nextOffset: 7, tail: 7, sealed: false, successors: [] });
    }
  });

  test('members that were refused are not read, though their bytes lie between', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.append({ segment, batches: [messages('a'), messages('refused'), messages('b', 'c')], skip: [1] });
    const page = await log.consumer.readSegment(log.topic, { segment, from: 'earliest', ...EVERYTHING }, calm());
    expect(await shown(log.consumer, page.slices)).toEqual([`${segment}:0=a`, `${segment}:1=b`, `${segment}:2=c`]);
  });

  test('refuses what is beyond the tail, before the start, or not an offset', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.write(segment, 'a', 'b', 'c');
    await log.spill(segment);
    await archive(log, segment, { next: 2, state: 'dropped' });
    const read = (offset: number) => log.consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    await expect(read(4)).rejects.toMatchObject({ kind: 'invalid', code: 'beyond-tail', extra: { tail: 3 } });
    await expect(read(Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({ code: 'beyond-tail' });
    await expect(read(1)).rejects.toMatchObject({ kind: 'not-found', code: 'truncated', extra: { start: 2 } });
    await expect(read(Number.MAX_SAFE_INTEGER + 1)).rejects.toMatchObject({ kind: 'invalid', code: 'invalid-offset' });
    await expect(read(-1)).rejects.toMatchObject({ code: 'invalid-offset' });
    expect(await values(log.consumer, (await read(2)).slices)).toEqual(['c']);
    const earliest = await log.consumer.readSegment(log.topic, { segment, from: 'earliest', ...EVERYTHING }, calm());
    expect(earliest).toMatchObject({ offset: 2, nextOffset: 3 });
  });

  test('an unknown segment, one of a former life, one of a deleted topic', async () => {
    const log = createLog({ topic: createTopic({ firstSegment: 5 }) });
    const segment = await oneSegment(log);
    const read = (id: SegmentId) => log.consumer.readSegment(log.topic, { segment: id, from: 'earliest', ...EVERYTHING }, calm());
    await expect(read(segmentId(4))).rejects.toMatchObject({ kind: 'not-found', code: 'topic-replaced' });
    await expect(read(segmentId(6))).rejects.toMatchObject({ kind: 'not-found', code: 'segment-not-found' });
    await log.seal(segment, { deleted: true });
    await expect(read(segment)).rejects.toMatchObject({ kind: 'not-found', code: 'topic-not-found' });
  });

  test('a sealed segment says so and names its successors, without waiting', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.write(segment, 'a');
    const successors = [{ segment: segmentId(1), ...ALL }];
    await log.seal(segment, { successors });
    const page = await log.consumer.readSegment(log.topic, { segment, from: { offset: 1 }, ...EVERYTHING, waitMs: 25_000 }, calm());
    expect(page).toEqual({ slices: [], offset: 1, nextOffset: 1, tail: 1, sealed: true, successors, unchecked: false });
    expect(log.clock.sleeping()).toBe(0);
  });

  test('says when a message was committed: the time in its commit id', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.clock.advance(1_234);
    await log.write(segment, 'a');
    const page = await log.consumer.readSegment(log.topic, { segment, from: 'earliest', ...EVERYTHING }, calm());
    expect(page.slices.map((slice) => slice.committedMs)).toEqual([1_700_000_001_234]);
  });

  test('history costs no read of the head once it is known', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.write(segment, 'a', 'b');
    let reads = 0;
    const counted = { ...log.table, get: (...get: Parameters<typeof log.table.get>) => ((reads += 1), log.table.get(...get)) };
    const { consumer } = log.instance({ table: counted });
    const read = (offset: number) => consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    await read(0);
    expect(reads).toBe(1);
    await read(0);
    await read(1);
    expect(reads).toBe(1);
    await read(2);
    expect(reads).toBe(2);
  });
});

describe('F19 a stale table read', () => {
  test('the tail never goes back', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    await log.write(segment, 'a');
    let stale = await log.table.get({ pk: `h#${log.topic.id}#${segment}`, sk: 'head' }, calm());
    let isStale = false;
    const { consumer } = log.instance({
      table: { ...log.table, get: async (key, signal) => (isStale ? stale : log.table.get(key, signal)) },
    });
    await log.write(segment, 'b', 'c');
    const read = (offset: number) => consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    expect((await read(0)).tail).toBe(3);
    isStale = true;
    expect(await read(3)).toMatchObject({ tail: 3, nextOffset: 3, slices: [] });
    expect((await read(1)).tail).toBe(3);
    stale = undefined;
    await expect(read(3)).rejects.toMatchObject({ code: 'segment-not-found' });
  });
});

describe('the bounds of a page', () => {
  test('J-20 at least one message comes, whatever the bounds, and each read goes on', async () => {
    const log = createLog();
    const segment = await oneSegment(log);
    const sizes = [10_000, 900_000, 10];
    const big = sizes.map((size) => message('x'.repeat(size)));
    await log.append({ segment, batches: [big] });
    await log.append({ segment, batches: big.map((one) => [one]), compress: true });
    for (const bounds of [
      { messagesMax: 1, bytesMax: 1 },
      { messagesMax: 1, bytesMax: 1_000_000 },
      { messagesMax: 100, bytesMax: 1 },
    ]) {
      const lengths: number[] = [];
      for (let offset = 0, reads = 0; offset < 6; reads += 1) {
        const page = await log.consumer.readSegment(log.topic, { segment, from: { offset }, ...bounds, waitMs: 0 }, calm());
        lengths.push(...(await decoded(log.consumer, page)).map((one) => one.value?.length ?? 0));
        expect(page.nextOffset).toBe(offset + 1);
        offset = page.nextOffset;
        expect(reads).toBeLessThan(6);
      }
      expect(lengths).toEqual([...sizes, ...sizes]);
    }
  });

  test('pages follow each other without a gap or a repeat, and stay within their bounds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            batches: fc.array(fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
            compress: fc.boolean(),
            spill: fc.boolean(),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 1_500 }),
        fc.boolean(),
        async (appends, messagesMax, bytesMax, wholeBatches) => {
          const log = createLog();
          const segment = await oneSegment(log);
          let count = 0;
          for (const { batches, compress, spill } of appends) {
            const made = batches.map((batch) => batch.map((size) => message(`${count++}`.padEnd(size, '.'))));
            await log.append({ segment, batches: made, compress });
            if (spill) await log.spill(segment);
          }
          const { consumer } = log.instance();
          let offset = 0;
          while (offset < count) {
            const page = await consumer.readSegment(
              log.topic,
              { segment, from: { offset }, messagesMax, bytesMax, waitMs: 0, wholeBatches },
              calm(),
            );
            const stored = await decoded(consumer, page);
            expect(stored.map((one) => one.offset)).toEqual(Array.from({ length: page.nextOffset - offset }, (_, index) => offset + index));
            for (const one of stored) expect(Number.parseInt(new TextDecoder().decode(one.value ?? undefined), 10)).toBe(one.offset);
            expect(page.nextOffset).toBeGreaterThan(offset);
            expect(excessOf(page, stored, { messagesMax, bytesMax, wholeBatches })).toEqual([]);
            offset = page.nextOffset;
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

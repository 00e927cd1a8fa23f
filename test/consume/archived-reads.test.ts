import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Consumer, ReadBounds } from '../../src/consume/page.ts';
import { readBatchHeader } from '../../src/format/record-batch-header.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Message, StoredMessage } from '../../src/model/message.ts';
import { arbitraryMessage } from '../format/arbitrary-message.ts';
import { archive, cleanUp, cutOff } from './archived-log.ts';
import { calm, createLog, drain, EVERYTHING, type Log, readTopic, values } from './fixture.ts';

const letters = (text: string): string[] => text.split('');

const ALL = { lo: 0, hi: 65_535 };

/** As values that tell any two different messages apart. */
const plain = (stored: readonly StoredMessage[]): unknown[] =>
  stored.map(({ offset, partition, key, value, headers, timestampMs }) => ({
    offset,
    partition,
    timestampMs,
    key: Buffer.from(key).toString('hex'),
    value: value === null ? null : Buffer.from(value).toString('hex'),
    headers: headers.map((one) => [one.name, one.value === null ? null : Buffer.from(one.value).toString('hex')]),
  }));

async function readAll(consumer: Consumer, log: Log, segment: SegmentId, from: number, bounds: ReadBounds): Promise<StoredMessage[]> {
  const stored: StoredMessage[] = [];
  for (let offset = from; ;) {
    const page = await consumer.readSegment(log.topic, { segment, from: { offset }, ...bounds }, calm());
    for (const slice of page.slices) {
      const messages = await consumer.decode(slice);
      stored.push(...messages);
      if (bounds.wholeBatches === true && messages.length === slice.count) {
        const maxTimestampMs = Math.max(...messages.map(({ timestampMs }) => timestampMs));
        expect(readBatchHeader(slice.bytes)).toMatchObject({ count: slice.count, maxTimestampMs });
      }
    }
    if (page.nextOffset === page.tail) return stored;
    expect(page.nextOffset).toBeGreaterThan(offset);
    offset = page.nextOffset;
  }
}

type History = readonly { readonly batches: readonly (readonly Message[])[]; readonly spill: boolean }[];

const history: fc.Arbitrary<History> = fc.array(
  fc.record({
    batches: fc.array(fc.array(arbitraryMessage, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
    spill: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
);

async function writeHistory(log: Log, commits: History): Promise<SegmentId> {
  const segment = await log.make(ALL);
  for (const { batches, spill } of commits) {
    await log.append({ segment, batches, compress: true });
    if (spill) await log.spill(segment);
    await log.clock.advance(1_000);
  }
  return segment;
}

/** Archives up to these shares of what is spilled, a file each. */
async function archiveSome(log: Log, segment: SegmentId, shares: readonly number[]): Promise<void> {
  const { spilled } = await log.head(segment);
  const ends = [...new Set(shares.map((share) => Math.ceil(share * spilled)))].toSorted((a, b) => a - b);
  for (const next of ends) if (next > 0) await archive(log, segment, { next });
}

const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 4 });
const bounds = fc.record({
  messagesMax: fc.integer({ min: 1, max: 12 }),
  bytesMax: fc.integer({ min: 1, max: 3_000 }),
  waitMs: fc.constant(0),
  wholeBatches: fc.boolean(),
});

describe('messages that are in files', () => {
  test('are the same as before, byte for byte, from any offset, in any page, and as whole batches', async () => {
    await fc.assert(
      fc.asyncProperty(history, shares, bounds, fc.boolean(), async (commits, ends, page, isCleaned) => {
        const log = createLog();
        const segment = await writeHistory(log, commits);
        const reader = log.instance().consumer;
        const before = await readAll(reader, log, segment, 0, EVERYTHING);
        await archiveSome(log, segment, ends);
        if (isCleaned) await cleanUp(log, segment);
        for (const consumer of [log.instance().consumer, reader]) {
          const from = before.length >> 1;
          expect(plain(await readAll(consumer, log, segment, 0, page))).toEqual(plain(before));
          // Whole batches may begin before what was asked for.
          const later = (await readAll(consumer, log, segment, from, page)).filter(({ offset }) => offset >= from);
          expect(plain(later)).toEqual(plain(before.slice(from)));
        }
      }),
      { numRuns: 100 },
    );
  });

  test('are found by their time, wherever they are', async () => {
    const times = fc.integer({ min: 0, max: 40 });
    const commits = fc.array(fc.tuple(fc.array(times, { minLength: 1, maxLength: 4 }), fc.boolean()), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(commits, shares, times, fc.nat({ max: 6 }), async (list, ends, timestampMs, startAt) => {
        const log = createLog();
        const stored = list.map(([batch, spill]) => ({ batches: [batch.map((at) => ({ ...plainMessage, timestampMs: at }))], spill }));
        const segment = await writeHistory(log, stored);
        await archiveSome(log, segment, ends);
        const through = (await log.head(segment)).spilled * Math.max(...ends);
        const start = Math.min(startAt, Math.floor(through));
        await cutOff(log, segment, start);
        await cleanUp(log, segment);
        const all = list.flatMap(([batch]) => batch);
        const expected = all.findIndex((at, offset) => offset >= start && at >= timestampMs);
        const offset = await log.instance().consumer.offsetAt(log.topic, { segment, timestampMs }, calm());
        expect(offset).toBe(expected === -1 ? all.length : expected);
      }),
      { numRuns: 100 },
    );
  });

  test('come in the order of a cursor, across files, pages and the head, and small files share a page', async () => {
    const log = createLog();
    const [left, right] = [await log.make({ lo: 0, hi: 32_767 }), await log.make({ lo: 32_768, hi: 65_535 })];
    for (let turn = 0; turn < 6; turn += 1) {
      for (const [name, segment] of [
        ['l', left],
        ['r', right],
      ] as const) {
        await log.write(segment, `${name}${turn}0`, `${name}${turn}1`);
        if (turn < 5) await log.spill(segment);
        if (turn < 4) await archive(log, segment, { next: (turn + 1) * 2 });
        await cleanUp(log, segment);
      }
    }
    const { consumer } = log.instance();
    const whole = await drain(log, 'earliest', EVERYTHING, consumer);
    const single = await drain(log, 'earliest', { ...EVERYTHING, messagesMax: 1 }, consumer);
    for (const { read } of [whole, single]) {
      for (const [name, segment] of [
        ['l', left],
        ['r', right],
      ] as const) {
        const texts = Array.from({ length: 12 }, (_, at) => `${segment}:${at}=${name}${at >> 1}${at & 1}`);
        expect(read.filter((text) => text.startsWith(segment))).toEqual(texts);
      }
    }
    const page = await consumer.readSegment(log.topic, { segment: left, from: 'earliest', ...EVERYTHING }, calm());
    expect(await values(consumer, page.slices)).toHaveLength(8);
  });

  test('have gaps where some were quarantined: those are passed over, also all of a file', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, ...letters('abcdefghij'));
    await log.spill(segment);
    await archive(log, segment, { next: 4, gaps: [0, 2, 3] });
    await archive(log, segment, { next: 6, gaps: [4, 5] });
    await archive(log, segment, { next: 10, gaps: [7, 9] });
    for (const [from, right] of [
      [0, '1b 6g 8i'],
      [2, '6g 8i'],
      [4, '6g 8i'],
      [7, '8i'],
      [9, ''],
    ] as const) {
      for (const [messagesMax, wholeBatches] of [
        [1, false],
        [100, false],
        [100, true],
      ] as const) {
        const { consumer } = log.instance();
        const read = await readAll(consumer, log, segment, from, { ...EVERYTHING, messagesMax, wholeBatches });
        expect(read.map(({ offset, value }) => `${offset}${Buffer.from(value ?? '').toString()}`).join(' ')).toBe(right);
      }
    }
    const { consumer } = log.instance();
    expect((await drain(log, 'earliest', { ...EVERYTHING, messagesMax: 1 }, consumer)).read).toHaveLength(3);
  });

  test('are told of by no place: who asks for references learns where they begin again', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (const text of letters('abc')) {
      await log.write(segment, text);
      await log.spill(segment);
    }
    await archive(log, segment, { next: 2 });
    const error = { kind: 'not-found', code: 'archived', extra: { segment, nextOffset: 2 } };
    const { consumer } = log.instance();
    const locate = (offset: number) => consumer.locateSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    await expect(locate(0)).rejects.toMatchObject(error);
    await expect(locate(1)).rejects.toMatchObject(error);
    await expect(consumer.locateTopic(log.topic, { cursor: 'earliest', ...EVERYTHING }, calm())).rejects.toMatchObject(error);
    expect((await locate(2)).slices.map(({ from, to }) => [from, to])).toEqual([[2, 3]]);
    const { cursor } = await readTopic(log, 'earliest', { ...EVERYTHING, messagesMax: 2 }, consumer);
    expect((await consumer.locateTopic(log.topic, { cursor, ...EVERYTHING }, calm())).slices).toHaveLength(1);
  });
});

const plainMessage: Message = { key: Buffer.from('k'), value: null, headers: [], timestampMs: 0 };

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SegmentId } from '../../src/model/ids.ts';
import { createLog, drain, EVERYTHING, type Log, message, readTopic, shown } from './fixture.ts';
import { commands, createTopology, type Effects, faultsOf, run, type Written } from './topology.ts';

const halves = [
  { lo: 0, hi: 32_767 },
  { lo: 32_768, hi: 65_535 },
];
const placeOf = ({ segment, offset }: Written): string => `${segment}:${offset}`;

/** A log that a topology writes. */
function createEffects(log: Log) {
  const predecessors = new Map<SegmentId, readonly SegmentId[]>();
  const written: Written[] = [];
  const tails = new Map<SegmentId, number>();
  const times: number[] = [];
  const effects: Effects = {
    async make(range, parents) {
      const segment = await log.make(range, parents, 'pending');
      predecessors.set(segment, parents);
      return segment;
    },
    seal: (segment, successors) => log.seal(segment, { successors }),
    open: (segment) => log.open(segment),
    async write(segment, partition) {
      const offset = tails.get(segment) ?? 0;
      tails.set(segment, offset + 1);
      const timestampMs = (partition * 7) % 1_000;
      times.push(timestampMs);
      written.push({ segment, offset, partition });
      await log.append({ segment, batches: [[message(`${partition}`, { timestampMs })]] });
      if (partition % 5 === 0) await log.spill(segment);
    },
  };
  return { effects, written, times, predecessorsOf: (segment: SegmentId) => predecessors.get(segment) ?? [] };
}

const parse = (texts: readonly string[]): Written[] =>
  texts.map((text) => {
    const [place = '', partition = ''] = text.split('=');
    const [segment = '', offset = ''] = place.split(':');
    return { segment: segment as SegmentId, offset: Number(offset), partition: Number(partition) };
  });

describe('reading a topic through splits and merges', () => {
  const bounds = fc.record({
    messagesMax: fc.integer({ min: 1, max: 5 }),
    bytesMax: fc.integer({ min: 1, max: 60 }),
    waitMs: fc.constant(0),
  });

  test('every message once and in order, by cursors that go from one instance to another', async () => {
    await fc.assert(
      fc.asyncProperty(commands, bounds, async (history, small) => {
        const log = createLog();
        const { effects, written, predecessorsOf } = createEffects(log);
        const topology = await createTopology(effects);
        const consumers = [log.consumer, log.instance().consumer, log.instance().consumer];
        let cursor = 'earliest';
        const read: string[] = [];
        for (const command of history) {
          await run(topology, command, async (turn) => {
            const consumer = consumers[turn % consumers.length] ?? log.consumer;
            const page = await readTopic(log, cursor, small, consumer);
            expect(page.slices.reduce((sum, slice) => sum + slice.to - slice.from, 0)).toBeLessThanOrEqual(small.messagesMax);
            read.push(...(await shown(consumer, page.slices)));
            ({ cursor } = page);
          });
        }
        while (!topology.isQuiet()) await topology.step();
        read.push(...(await drain(log, cursor, small, log.instance().consumer)).read);
        expect(faultsOf(parse(read), written, predecessorsOf)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test('C2 latest: exactly what is written afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(commands, commands, async (before, after) => {
        const log = createLog();
        const { effects, written, predecessorsOf } = createEffects(log);
        const topology = await createTopology(effects);
        // It has seen nothing since long ago.
        const reader = log.instance();
        await readTopic(log, 'latest', EVERYTHING, reader.consumer);
        for (const command of before) await run(topology, command, async () => undefined);
        const old = written.length;
        let { cursor, slices } = await readTopic(log, 'latest', EVERYTHING, reader.consumer);
        expect(slices).toEqual([]);
        const read: string[] = [];
        for (const command of after) {
          await run(topology, command, async () => {
            ({ cursor, slices } = await readTopic(log, cursor, EVERYTHING, reader.consumer));
            read.push(...(await shown(reader.consumer, slices)));
          });
        }
        while (!topology.isQuiet()) await topology.step();
        read.push(...(await drain(log, cursor, EVERYTHING, reader.consumer)).read);
        expect(faultsOf(parse(read), written.slice(old), predecessorsOf)).toEqual([]);
        expect(read).toHaveLength(written.length - old);
      }),
      { numRuns: 60 },
    );
  });

  test('J-10 timestamp: of each segment a suffix, with everything at or after the time in it', async () => {
    await fc.assert(
      fc.asyncProperty(commands, fc.integer({ min: 0, max: 1_000 }), async (history, timestampMs) => {
        const log = createLog();
        const { effects, written, times, predecessorsOf } = createEffects(log);
        const topology = await createTopology(effects, halves);
        for (const command of history) await run(topology, command, async () => undefined);
        while (!topology.isQuiet()) await topology.step();
        const { consumer } = log.instance();
        const read = parse((await drain(log, `timestamp:${timestampMs}`, EVERYTHING, consumer)).read);
        const wasRead = new Set(read.map(placeOf));
        const isLate = new Map(written.map((one, index) => [placeOf(one), (times[index] ?? 0) >= timestampMs]));
        expect(written.filter((one) => isLate.get(placeOf(one)) === true && !wasRead.has(placeOf(one)))).toEqual([]);
        expect(
          faultsOf(
            read,
            written.filter((one) => wasRead.has(placeOf(one))),
            predecessorsOf,
          ),
        ).toEqual([]);
        // Nothing is read too early: a segment whose predecessors gave nothing begins with a message of that time.
        const segmentsRead = new Set(read.map((one) => one.segment));
        const firsts = [...segmentsRead].map((segment) => read.find((one) => one.segment === segment));
        const early = firsts.filter(
          (one) => one !== undefined && isLate.get(placeOf(one)) !== true && !descends(one.segment, segmentsRead, predecessorsOf),
        );
        expect(early).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

function descends(segment: SegmentId, from: ReadonlySet<SegmentId>, predecessorsOf: (segment: SegmentId) => readonly SegmentId[]): boolean {
  return predecessorsOf(segment).some((predecessor) => from.has(predecessor) || descends(predecessor, from, predecessorsOf));
}

test('an instance that remembers a segment as open, which was passed over since, does not stand in the way', async () => {
  const log = createLog();
  const [low = { lo: 0, hi: 0 }, high = { lo: 0, hi: 0 }] = halves;
  const [older, other] = [await log.make(low), await log.make(high)];
  await log.write(older, 'a');
  await log.write(other, 'b', 'c');
  const between = await log.make(low, [older]);
  await log.seal(older, { successors: [{ segment: between, ...low }] });
  const remembers = log.instance();
  await readTopic(log, 'latest', EVERYTHING, remembers.consumer);
  const [left, right] = [
    { lo: 0, hi: 9_999 },
    { lo: 10_000, hi: low.hi },
  ];
  const parts = [await log.make(left, [between]), await log.make(right, [between])];
  await log.seal(between, { successors: parts.map((segment, index) => ({ segment, ...(index === 0 ? left : right) })) });
  const merged = { lo: right.lo, hi: high.hi };
  const last = await log.make(merged, [parts[1] ?? between, other]);
  for (const segment of [parts[1] ?? between, other]) await log.seal(segment, { successors: [{ segment: last, ...merged }] });
  await log.write(last, 'd');
  // A part of what was passed over is open to this reader, and the rest waits for the other parent.
  let cursor = 'earliest';
  for (let page = 0; page < 2; page += 1) ({ cursor } = await readTopic(log, cursor, { messagesMax: 1, bytesMax: 100, waitMs: 0 }));
  const { read } = await drain(log, cursor, EVERYTHING, remembers.consumer);
  expect(read).toEqual([`${other}:1=c`, `${last}:0=d`]);
});

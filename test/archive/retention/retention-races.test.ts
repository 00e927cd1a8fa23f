import { expect, test } from 'vitest';
import { archiveNext } from '../../../src/archive/archive-segment.ts';
import { decodeArchive } from '../../../src/format/archive-item.ts';
import type { Archive } from '../../../src/model/archive.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { SegmentId } from '../../../src/model/ids.ts';
import type { WriteResult } from '../../../src/ports/metadata-table.ts';
import { readSegmentRecords } from '../../../src/state/segment-records.ts';
import { message } from '../../publish/requests.ts';
import { interceptTable, type TableCall } from '../../simulation/intercept.ts';
import { replaceSegments } from '../../simulation/replace-segment.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { createTestWorld, type TestBroker } from '../../simulation/test-broker.ts';
import { archiverOf, checkKept, FILE_AGE_MS, keepingTopic, placesOf, sweepOf, truncateOf } from './retention-world.ts';

// Sweeps, archivers, publishers, splits, merges and truncation side by side, each of whose calls takes its time.

const MAX_AGE_MS = 60_000;
const RUN_MS = 150_000;
const CALL_MS_MAX = 40;

/** What was stored, and when the publish began. */
type Stored = { readonly segment: SegmentId; readonly offset: number; readonly sinceMs: number };

test.each(Array.from({ length: 4 }, (_, seed) => seed))(
  'what is younger than that stays, and what is older goes (seed %i)',
  async (seed) => {
    const world = createTestWorld(seed);
    const topic = await keepingTopic(world, { maxAgeSeconds: MAX_AGE_MS / 1_000 }, 2);
    const endMs = world.clock.nowMs() + RUN_MS;
    const stored: Stored[] = [];
    const starts = new Map<SegmentId, Archive>();
    /** By hand, all may go that was there by then. */
    let truncatedMs = 0;
    const notes: string[] = [];

    /** R1, at each write of an archive item: nothing goes back, and nothing goes that is young. */
    function look(after: Archive): void {
      const before = starts.get(after.segment);
      starts.set(after.segment, after);
      if (after.start > after.through) notes.push(`${after.segment} begins at ${after.start}, behind what is archived`);
      if (before !== undefined && (after.start < before.start || after.through < before.through)) notes.push(`${after.segment} goes back`);
      const oldMs = Math.max(world.clock.nowMs() - MAX_AGE_MS, truncatedMs);
      const young = stored.find(({ segment, offset, sinceMs }) => segment === after.segment && offset < after.start && sinceMs > oldMs);
      if (young !== undefined) notes.push(`offset ${young.offset} of ${young.segment} went too early`);
    }
    const isArchive = (call: TableCall): boolean => call.op === 'update' && call.key.sk === 'a';

    function brokerOf(random: SeededRandom): TestBroker {
      const table = interceptTable(world.table, async (call, make, signal) => {
        await world.clock.sleep(random.integer(CALL_MS_MAX), signal);
        const result = await make();
        const { item } = isArchive(call) ? (result as WriteResult) : {};
        if (item !== undefined) look(decodeArchive(item));
        return result;
      });
      return world.broker({ table });
    }

    /** Does it again and again, with pauses. What stands in its way is another one's doing. */
    async function keepOn(
      name: string,
      pauseMs: number,
      work: (broker: TestBroker, random: SeededRandom) => Promise<unknown>,
    ): Promise<void> {
      const random = world.random.fork(name);
      const broker = brokerOf(random);
      while (world.clock.nowMs() < endMs) {
        await world.clock.sleep(random.integer(pauseMs), world.signal);
        await work(broker, random).catch((error: unknown) => {
          if (!(error instanceof KelpError) || error.kind === 'corrupt') throw error;
        });
      }
    }
    const segments = async (): Promise<readonly SegmentId[]> =>
      (await readSegmentRecords(world.table, { topic: topic.id, after: '' }, world.signal)).map(({ segment }) => segment);

    async function publish(broker: TestBroker, random: SeededRandom): Promise<void> {
      const sinceMs = world.clock.nowMs();
      const current = await broker.topics.resolve('t', { fresh: true }, world.signal);
      const messages = Array.from({ length: 1 + random.integer(4) }, () =>
        message(`k${random.integer(9)}`, 'v', random.integer(2) * sinceMs),
      );
      for (const one of await broker.publisher.publish(current, { content: { kind: 'messages', messages } }, world.signal)) {
        if (!(one instanceof KelpError)) stored.push({ segment: one.segment, offset: one.offset ?? 0, sinceMs });
      }
    }
    async function archive(broker: TestBroker, random: SeededRandom): Promise<void> {
      for (const segment of await segments()) {
        if (random.chance(0.7)) await archiveNext(archiverOf(broker), topic, segment, world.signal);
      }
    }
    async function change(broker: TestBroker, random: SeededRandom): Promise<void> {
      const { open } = await broker.topics.resolve('t', { fresh: true }, world.signal);
      const at = random.integer(open.length);
      const parents = open.slice(at, at + 1 + random.integer(2)).map(({ segment }) => segment);
      await replaceSegments({ ...world, run: (work) => work }, topic, { parents, children: open.length < 4 ? 2 : 1 });
    }
    async function cut(broker: TestBroker, random: SeededRandom): Promise<void> {
      if (random.chance(0.8)) return;
      truncatedMs = Infinity;
      await truncateOf(broker, topic, { timestampMs: world.clock.nowMs() - 20_000 });
      truncatedMs = world.clock.nowMs();
    }

    await world.run(
      Promise.all([
        ...['a', 'b'].map((name) => keepOn(`publisher ${name}`, 2_000, publish)),
        ...['a', 'b'].map((name) => keepOn(`sweeper ${name}`, 6_000, (broker) => sweepOf(broker))),
        ...['a', 'b'].map((name) => keepOn(`archiver ${name}`, 4_000, archive)),
        keepOn('change', 30_000, change),
        keepOn('truncate', 30_000, cut),
      ]),
    );
    expect(notes).toEqual([]);
    await checkKept(world, topic);
    expect([...starts.values()].filter(({ start }) => start > 0).length).toBeGreaterThan(2);

    await world.clock.advance(MAX_AGE_MS + FILE_AGE_MS);
    expect(await world.run(sweepOf(world.broker()))).toMatchObject({ failed: 0, complete: true });
    await checkKept(world, topic);
    for (const place of await placesOf(world, topic)) expect(place).toMatch(/^(\d+)\/\1\/\1$/);
  },
);

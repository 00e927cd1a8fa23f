import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Consumer } from '../../src/consume/page.ts';
import { ARCHIVE_KNOWN_MS_MAX } from '../../src/model/archive-limits.ts';
import { KelpError } from '../../src/model/errors.ts';
import { readFileRecords } from '../../src/state/archives.ts';
import { archivedFileKey } from '../../src/format/object-key.ts';
import type { Heads } from '../../src/state/heads.ts';
import { archive, archiveOf, cleanUp, cutOff } from './archived-log.ts';
import { calm, createLog, EVERYTHING, type Log, message, readTopic, shown, textOf } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };

/** What happens to a segment, and what a reader asks who has been there for long. `share`: of what can be read, archived or cut off. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 4 }), told: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('spill' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('archive' as const, 'drop' as const, 'cut' as const),
      share: fc.double({ min: 0.1, max: 1, noNaN: true }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('collect' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 100, max: 4_000 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      most: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('follow' as const), most: fc.integer({ min: 1, max: 9 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

type World = {
  readonly log: Log;
  readonly segment: Parameters<Log['write']>[0];
  readonly consumer: Consumer;
  readonly heads: Heads;
  cursor: string;
  next: number;
  published: number;
};

async function act(world: World, one: Step): Promise<void> {
  const { log, segment } = world;
  const { spilled, entries } = await log.head(segment);
  const { through, start } = await archiveOf(log, segment);
  if (one.do === 'publish') {
    const values = Array.from({ length: one.count }, () => `v${world.published++}`);
    const batch = values.map((value) => message(value));
    const [appended] = await log.append({ segment, batches: [batch] });
    if (one.told && appended !== undefined) world.heads.offer(appended.head);
  } else if (one.do === 'spill' && entries.length > 0) await log.spill(segment);
  else if (one.do === 'archive' || one.do === 'drop') {
    const next = through + Math.ceil(one.share * (spilled - through));
    if (next > through) await archive(log, segment, { next, state: one.do === 'drop' ? 'dropped' : 'written' });
  } else if (one.do === 'cut') await cutOff(log, segment, Math.max(start, Math.floor(one.share * through)));
  else if (one.do === 'collect') {
    await cleanUp(log, segment);
    for (const { date, first, last } of (await readFileRecords(log, { topic: log.topic.id, segment }, 0, calm())).records) {
      if (last < start)
        await log.store.delete(archivedFileKey(log.topic.name, { topic: log.topic.id, segment, date, first, last }), calm());
    }
  } else if (one.do === 'wait') await log.clock.advance(one.ms);
  else if (one.do === 'read') await read(world, Math.floor(one.share * world.published), one.most);
  else if (one.do === 'follow') await follow(world, one.most);
}

/** An offset is read as it was written, or is told to be below the start, and then it is. */
async function read({ log, segment, consumer }: World, offset: number, messagesMax: number): Promise<'truncated' | 'read'> {
  try {
    const page = await consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING, messagesMax }, calm());
    for (const slice of page.slices) for (const stored of await consumer.decode(slice)) expect(textOf(stored)).toBe(`v${stored.offset}`);
    if (offset < page.tail) expect(page.slices[0]?.from).toBe(offset);
    expect(page.nextOffset).toBe(page.slices.at(-1)?.to ?? offset);
    return 'read';
  } catch (error) {
    if (!(error instanceof KelpError) || error.code !== 'truncated') throw error;
    const { start } = await archiveOf(log, segment);
    expect(offset).toBeLessThan(Number(error.extra['start']));
    expect(error.extra['start']).toBeLessThanOrEqual(start);
    return 'truncated';
  }
}

async function readEach(world: World): Promise<('truncated' | 'read')[]> {
  const told: ('truncated' | 'read')[] = [];
  for (let offset = 0; offset < world.published; offset += 1) told.push(await read(world, offset, 1));
  return told;
}

/** A cursor goes on without a gap, but over what is cut off. */
async function follow(world: World, messagesMax: number): Promise<void> {
  const { log, segment, consumer } = world;
  const page = await readTopic(log, world.cursor, { ...EVERYTHING, messagesMax }, consumer);
  const { start } = await archiveOf(log, segment);
  for (const text of await shown(consumer, page.slices)) {
    const offset = Number(/:(\d+)=/.exec(text)?.[1]);
    expect(text).toBe(`${segment}:${offset}=v${offset}`);
    if (offset > world.next) expect(offset).toBeLessThanOrEqual(start);
    else expect(offset).toBe(world.next);
    world.next = offset + 1;
  }
  if (page.slices.length === 0) expect(Math.max(world.next, start)).toBe(world.published);
  world.cursor = page.cursor;
}

describe('a reader who has been there for long', () => {
  test('is right after anything that archivers, retention and clean-up do, whatever it remembers of heads, pages, archive and files', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 90, size: 'max' }), async (steps) => {
        const log = createLog();
        const segment = await log.make(ALL);
        const world: World = { log, segment, ...log.instance({ cacheBytesMax: 0 }), cursor: 'earliest', next: 0, published: 0 };
        for (const one of steps) await act(world, one);
        await readEach(world);
        await log.clock.advance(ARCHIVE_KNOWN_MS_MAX);
        const { start } = await archiveOf(log, segment);
        expect((await readEach(world)).filter((told) => told === 'truncated')).toHaveLength(start);
        for (let turn = 0; turn < 3; turn += 1) await follow(world, 10_000);
        expect(Math.max(world.next, (await archiveOf(log, segment)).start)).toBe(world.published);
      }),
      { numRuns: 150 },
    );
  });
});

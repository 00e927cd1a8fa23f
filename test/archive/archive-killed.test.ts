import { describe, expect, test } from 'vitest';
import { PLANNED_BY_OTHERS_MS } from '../../src/model/archive-limits.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { message, messages, textOf } from '../consume/fixture.ts';
import { appendUpload, find } from '../consume/uploaded.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { type ArchiverPorts, type ArchiveWorld, createArchiveWorld } from './archive-world.ts';

const ALL = { lo: 0, hi: 65_535 };
const STEPS_MAX = 1_000;
/** Two or three files of what {@link fill} writes. */
const FILE_BYTES = 1_300;
const OTHER_FILE_BYTES = 2_000;

/** Of pages, a head, and an upload of which one batch is quarantined; sealed, so that all of it is due. Answers the values in order. */
async function fill({ log }: ArchiveWorld): Promise<{ readonly segment: SegmentId; readonly texts: readonly string[] }> {
  const segment = await log.make(ALL);
  const texts = Array.from({ length: 6 }, (_, count) => `${count}`.padStart(300, 'x'));
  for (const [index, text] of texts.entries()) {
    await log.write(segment, text);
    if (index % 3 === 1) await log.spill(segment);
  }
  const upload = await appendUpload(log, segment, { batches: [messages('u1'), messages('bad', 'bad'), messages('u2')] });
  await find(log, upload, { checked: true, bad: [1] });
  await log.seal(segment);
  return { segment, texts: [...texts, 'u1', 'u2'] };
}

/** All that was written is in files once, in order, and there is no file without a record, nor a record that overlaps another one. */
async function expectArchived(world: ArchiveWorld, segment: SegmentId, texts: readonly string[]): Promise<void> {
  const { archive, records } = await world.state(segment);
  const { tail } = await world.log.head(segment);
  expect(archive.through).toBe(tail);
  expect((await world.archived(segment)).map(textOf)).toEqual(texts);
  expect(records.map(({ first, state }) => [first, state])).toEqual(
    records.map((_, index) => [index === 0 ? 0 : (records[index - 1]?.last ?? NaN) + 1, 'written']),
  );
  expect((await world.files()).toSorted()).toEqual(records.map((record) => world.fileKey(segment, record)).toSorted());
}

/** Stores that are there until the call of this number, which is done or not; from then on their user is dead. */
function killedAt(world: ArchiveWorld, at: number, done: boolean): ArchiverPorts {
  let calls = 0;
  const around = async <R>(_: unknown, make: () => Promise<R>): Promise<R> => {
    calls += 1;
    if (calls < at) return make();
    if (calls === at && done) await make();
    throw new Error('killed');
  };
  return { table: interceptTable(world.log.table, around), store: interceptStore(world.log.store, around) };
}

test('an archiver may be killed at any call of a store: the next one leaves no message out, and none is in two files', async () => {
  let steps = 0;
  for (let at = 1, survived = false; at <= STEPS_MAX && !survived; at += 1, steps += 1) {
    for (const done of [false, true]) {
      const world = await createArchiveWorld();
      const { segment, texts } = await fill(world);
      const end = await world.archive(segment, world.archiver({ ...killedAt(world, at, done), fileBytesMax: FILE_BYTES })).catch(String);
      survived = end === 'idle';
      await world.log.clock.advance(PLANNED_BY_OTHERS_MS);
      // By other bounds as well: the record says where the file ends.
      expect(await world.archive(segment, world.archiver({ fileBytesMax: OTHER_FILE_BYTES })), `call ${at}`).toBe('idle');
      await expectArchived(world, segment, texts);
    }
  }
  // So it was stopped in each of its steps, of some files.
  expect(steps).toBeGreaterThan(60);
}, 60_000);

describe('two archivers at once', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('write each message once (seed %i)', async (seed) => {
    const world = await createArchiveWorld();
    const { segment, texts } = await fill(world);
    const random = createSeededRandom(seed);
    const around = async <R>(_: unknown, make: () => Promise<R>): Promise<R> => {
      for (let turns = random.integer(6); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
      return make();
    };
    const ports = { table: interceptTable(world.log.table, around), store: interceptStore(world.log.store, around) };
    // Their clocks differ by so much that neither leaves anything to the other one.
    const ahead = { ...world.log.clock, nowMs: () => world.log.clock.nowMs() + 2 * PLANNED_BY_OTHERS_MS };
    const [one, other] = [
      world.archiver({ ...ports, fileBytesMax: FILE_BYTES }),
      { ...world.archiver({ ...ports, fileBytesMax: OTHER_FILE_BYTES }), clock: ahead },
    ];
    await Promise.all([world.archive(segment, one), world.archive(segment, other)]);
    await expectArchived(world, segment, texts);
  });

  test('leave to each other what was just begun', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    await log.append({ segment, batches: [[message('a')]] });
    await log.seal(segment);
    // Stopped in front of its file.
    const killed = interceptStore(log.store, (call, make) => (call.op === 'put' ? Promise.reject(new Error('killed')) : make()));
    await expect(world.archive(segment, world.archiver({ store: killed }))).rejects.toThrow('killed');
    expect(await world.archive(segment)).toBe('busy');
    await log.clock.advance(PLANNED_BY_OTHERS_MS - 1);
    expect(await world.archive(segment)).toBe('busy');
    await log.clock.advance(1);
    expect(await world.archive(segment)).toBe('idle');
    await expectArchived(world, segment, ['a']);
  });
});

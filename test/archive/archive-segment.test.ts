import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { dateOf } from '../../src/model/archived-file.ts';
import { textOf } from '../consume/fixture.ts';
import { type ArchiveWorld, createArchiveWorld, HOUR_MS } from './archive-world.ts';

const ALL = { lo: 0, hi: 65_535 };
const texts = async (world: ArchiveWorld, segment: Parameters<ArchiveWorld['archived']>[0]): Promise<string[]> =>
  (await world.archived(segment)).map(textOf);

describe('a segment', () => {
  test('is archived once its first message is an hour old, out of its head', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    await log.write(segment, 'a', 'b');
    await log.clock.advance(HOUR_MS - 1);
    await log.write(segment, 'c');
    expect(await world.archive(segment)).toBe('idle');
    expect((await log.head(segment)).spilled).toBe(0);
    await log.clock.advance(1);
    expect(await world.archive(segment)).toBe('idle');
    expect(await texts(world, segment)).toEqual(['a', 'b', 'c']);
    const { archive, records } = await world.state(segment);
    expect(archive).toMatchObject({ through: 3, start: 0, goneBytes: 0, guard: (await log.head(segment)).guard });
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ first: 0, last: 2, state: 'written', file: { rows: 3, misfits: 0 } });
    expect(archive.bytes).toBe(records[0]?.bytes);
  });

  test('that is sealed is archived at once, to its end', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    await log.write(segment, 'a');
    await log.spill(segment);
    await log.write(segment, 'b');
    await log.seal(segment);
    expect(await world.archive(segment)).toBe('idle');
    expect(await texts(world, segment)).toEqual(['a', 'b']);
    expect(await world.archive(segment)).toBe('idle');
    expect(await world.files()).toHaveLength(1);
  });

  test('has files of entries that fit, each once, and leaves the rest', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    for (let count = 0; count < 40; count += 1) {
      await log.write(segment, `${count}`.padStart(100, '0'));
      if (count % 7 === 6) await log.spill(segment);
    }
    await log.clock.advance(HOUR_MS);
    await log.write(segment, 'late');
    expect(await world.archive(segment, world.archiver({ fileBytesMax: 1_000 }))).toBe('idle');
    const { records } = await world.state(segment);
    expect(records.length).toBeGreaterThan(3);
    for (const [index, { first, bytes }] of records.entries()) {
      expect(first).toBe(index === 0 ? 0 : (records[index - 1]?.last ?? 0) + 1);
      expect(bytes - (records[index - 1]?.bytes ?? 0)).toBeLessThanOrEqual(1_000);
    }
    expect((await world.archived(segment)).map(({ offset }) => offset)).toEqual(Array.from({ length: 41 }, (_, offset) => offset));
  });

  test('has the days of its commits in files of their own', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    const dayMs = 24 * HOUR_MS;
    await log.clock.advance(dayMs - (log.clock.nowMs() % dayMs) - 1_000);
    await log.write(segment, 'a');
    const before = dateOf(log.clock.nowMs());
    await log.clock.advance(1_000);
    await log.write(segment, 'b');
    const after = dateOf(log.clock.nowMs());
    expect(await world.archive(segment)).toBe('idle');
    expect((await world.state(segment)).records.map(({ date, last }) => [date, last])).toEqual([[before, 0]]);
    await log.clock.advance(HOUR_MS);
    await world.archive(segment);
    expect((await world.state(segment)).records.map(({ date, last }) => [date, last])).toEqual([
      [before, 0],
      [after, 1],
    ]);
    expect(new Set([before, after]).size).toBe(2);
  });

  test('whose messages are damaged is held, and told', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    const { key } = await log.write(segment, 'a');
    await log.damage(key, (bytes) => bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)));
    await log.seal(segment);
    expect(await world.archive(segment)).toBe('held');
    expect(world.telemetry.total('kelp.archive.held')).toBe(1);
    expect(world.telemetry.logs.at(-1)).toMatchObject({
      level: 'error',
      fields: { segment, object: key, offset: 0, error: expect.any(KelpError) },
    });
    expect((await world.state(segment)).archive.through).toBe(0);
    expect(await world.files()).toEqual([]);
  });
});

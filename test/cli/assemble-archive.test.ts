import { describe, expect, test } from 'vitest';
import { assembleArchive } from '../../src/cli/assemble-archive.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { RUNTIME_MARGIN_MS } from '../../src/model/function-limits.ts';
import { FILE_MS_MAX } from '../../src/model/archive-limits.ts';
import type { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { type ArchiveWorld, createArchiveWorld } from '../archive/archive-world.ts';
import { contextOf } from '../http/function-events.ts';

// The function that a schedule starts.

const LIFETIMES = { fileAgeMs: 3_600_000, fileBytesMax: 67_108_864, garbageAgeMs: 0 };
const LEFT_MS = 290_000;

async function sealed(): Promise<{ readonly world: ArchiveWorld; readonly segment: SegmentId }> {
  const world = await createArchiveWorld();
  const segment = await world.log.make({ lo: 0, hi: 65_535 });
  await world.log.write(segment, 'a', 'b');
  await world.log.seal(segment);
  return { world, segment };
}

type Options = { readonly store?: ObjectStore; readonly clock?: Clock; readonly leftMs?: number };

async function invoke({ log }: ArchiveWorld, { store = log.store, clock = createSystemClock(), leftMs = LEFT_MS }: Options = {}) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const handler = assembleArchive(LIFETIMES, { table: log.table, store, clock, write });
  const ended = await handler({ source: 'aws.events' }, contextOf(leftMs)).catch((error: KelpError) => error);
  return { ended, lines };
}

describe('an event', () => {
  test('archives what is due; what was done is its answer, and a line', async () => {
    const { world, segment } = await sealed();
    const run = { archived: 1, held: 0, busy: 0, failed: 0, complete: true };
    const { ended, lines } = await invoke(world);
    expect(ended).toMatchObject(run);
    expect(lines).toMatchObject([{ level: 'info', message: 'archived', ...run, counts: { 'kelp.archive.rows': 2 } }]);
    expect((await world.state(segment)).archive.through).toBe(2);
  });

  test('fails where something is held, once all else is done', async () => {
    const { world, segment } = await sealed();
    const { key } = await world.log.write(await world.log.make({ lo: 0, hi: 65_535 }), 'damaged');
    await world.log.damage(key, (bytes) => bytes.subarray(0, -1));
    await world.log.seal('s0000001' as SegmentId);
    const { ended, lines } = await invoke(world);
    expect(ended).toMatchObject({ kind: 'unavailable', code: 'archive-incomplete' });
    expect(JSON.parse((ended as KelpError).message)).toMatchObject({ archived: 1, held: 1 });
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'a stored object is damaged'],
      ['error', 'messages cannot be archived'],
      ['error', 'archiving failed'],
    ]);
    expect((await world.state(segment)).archive.through).toBe(2);
  });

  test('begins nothing where there is no time for a file', async () => {
    const { world, segment } = await sealed();
    const { ended } = await invoke(world, { leftMs: FILE_MS_MAX + RUNTIME_MARGIN_MS });
    expect(ended).toMatchObject({ code: 'out-of-time' });
    expect(await world.state(segment)).toMatchObject({ archive: { through: 0 }, records: [] });
  });

  test('whose time is over while it writes a file ends that one', async () => {
    const { world, segment } = await sealed();
    const until = new AbortController();
    const store: ObjectStore = {
      ...world.log.store,
      async put(...call) {
        until.abort(new DOMException('over', 'TimeoutError'));
        await new Promise((resolve) => setImmediate(resolve));
        await world.log.store.put(...call);
      },
    };
    const { ended } = await invoke(world, { store, clock: { ...createSystemClock(), deadline: () => until.signal } });
    expect(ended).toMatchObject({ archived: 1, failed: 0, complete: false });
    expect((await world.archived(segment)).map(({ offset }) => offset)).toEqual([0, 1]);
  });
});

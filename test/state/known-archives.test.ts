import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { encodeArchive } from '../../src/format/archive-item.ts';
import { archiveKey } from '../../src/format/item-key.ts';
import { ARCHIVE_KNOWN_MS_MAX, ARCHIVES_KNOWN_MAX } from '../../src/model/archive-limits.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { nothingArchived } from '../../src/protocol/archive.ts';
import { raiseStart } from '../../src/state/archives.ts';
import { createArchives } from '../../src/state/known-archives.ts';
import { createManualClock } from '../consume/manual-clock.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';

const TOPIC = 'taaaaaaaaaaaaaaa' as TopicId;
const place = { topic: TOPIC, segment: segmentId(0) };
const calm = (): AbortSignal => new AbortController().signal;
const state = (through: number, start = 0) => ({ ...nothingArchived(TOPIC, place.segment), through, start });

/** Reads that end when a test says so. */
function createWorld() {
  const table = createMemoryTable();
  const clock = createManualClock();
  const held: (() => void)[] = [];
  let gets = 0;
  let isHeld = false;
  const counted: MetadataTable = {
    ...table,
    async get(key, signal) {
      gets += 1;
      const item = await table.get(key, signal);
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
      return item;
    },
  };
  return {
    clock,
    table: counted,
    archives: createArchives({ table: counted, clock }),
    put: (through: number, start = 0) => table.put(archiveKey(TOPIC, place.segment), encodeArchive(state(through, start)), [], calm()),
    gets: () => gets,
    hold: () => (isHeld = true),
    release() {
      isHeld = false;
      for (const go of held.splice(0)) go();
    },
  };
}

describe('how far segments were archived', () => {
  test('is read once in a few seconds, and of a segment of which nothing was, too', async () => {
    const { archives, clock, put, gets } = createWorld();
    expect(await archives.of(place, calm())).toEqual(state(0));
    await put(5);
    await clock.advance(ARCHIVE_KNOWN_MS_MAX - 1);
    expect((await archives.of(place, calm())).through).toBe(0);
    await clock.advance(1);
    expect((await archives.of(place, calm())).through).toBe(5);
    expect(gets()).toBe(2);
  });

  test('is read by one of those who ask when it is too old; the others take the old one meanwhile', async () => {
    const { archives, clock, put, gets, hold, release } = createWorld();
    await put(5);
    await archives.of(place, calm());
    await clock.advance(ARCHIVE_KNOWN_MS_MAX);
    await put(9);
    hold();
    const first = archives.of(place, calm());
    expect((await archives.of(place, calm())).through).toBe(5);
    release();
    expect((await first).through).toBe(9);
    expect((await archives.of(place, calm())).through).toBe(9);
    expect(gets()).toBe(2);
  });

  test('is read by the next one where that read failed', async () => {
    const { archives, clock, gets } = createWorld();
    await archives.of(place, calm());
    await clock.advance(ARCHIVE_KNOWN_MS_MAX);
    await expect(archives.of(place, AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
    await archives.of(place, calm());
    expect(gets()).toBe(3);
  });

  test('never goes back, in whatever order answers come', async () => {
    const { archives, put } = createWorld();
    await put(5, 2);
    archives.offer(state(5, 4));
    archives.offer(state(3, 0));
    archives.offer(state(5, 1));
    expect(await archives.of(place, calm())).toMatchObject({ through: 5, start: 4 });
  });

  test('is known at once where this instance has changed it', async () => {
    const { archives, clock, table, put } = createWorld();
    await put(5);
    await archives.of(place, calm());
    await raiseStart({ table, clock, archives, random: createSeededRandom(1) }, place, { start: 3, goneBytes: 0 }, calm());
    expect((await archives.of(place, calm())).start).toBe(3);
  });

  test('forgotten, is read anew, and not taken from a read that began before', async () => {
    const { archives, put, hold, release } = createWorld();
    hold();
    const before = archives.of(place, calm());
    await Promise.resolve();
    await put(5);
    archives.forget(place);
    release();
    expect((await before).through).toBe(0);
    expect((await archives.of(place, calm())).through).toBe(5);
  });

  test('is remembered of so many segments', async () => {
    const { archives, gets } = createWorld();
    for (let n = 0; n <= ARCHIVES_KNOWN_MAX; n += 1) await archives.of({ topic: TOPIC, segment: segmentId(n) }, calm());
    const before = gets();
    await archives.of({ topic: TOPIC, segment: segmentId(1) }, calm());
    expect(gets()).toBe(before);
    await archives.of(place, calm());
    expect(gets()).toBe(before + 1);
  });
});

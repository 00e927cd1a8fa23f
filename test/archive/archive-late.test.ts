import { describe, expect, test } from 'vitest';
import type { ArchiveDeps } from '../../src/archive/archive-deps.ts';
import { PLANNED_BY_OTHERS_MS } from '../../src/model/archive-limits.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { droppedUpdate } from '../../src/protocol/archive.ts';
import { putFileRecord, updateFileRecord } from '../../src/state/archives.ts';
import { calm, textOf } from '../consume/fixture.ts';
import { interceptStore, interceptTable, type StoreCall, type TableCall } from '../simulation/intercept.ts';
import { type ArchiveWorld, createArchiveWorld } from './archive-world.ts';

// An archiver that stands still in front of one of its calls, while others go on, and then makes it.

const ALL = { lo: 0, hi: 65_535 };
const VALUES = ['a', 'b', 'c', 'd'];

type Call = TableCall | StoreCall;
const sortKey = (call: Call): string => ('key' in call && typeof call.key === 'object' ? call.key.sk : '');
const isRecordPut = (call: Call): boolean => call.op === 'put' && sortKey(call).startsWith('f');
const isFilePut = (call: Call): boolean => call.op === 'put' && typeof call.key === 'string';
const isWritten = (call: Call): boolean => call.op === 'update' && sortKey(call).startsWith('f');
const isRaise = (call: Call): boolean => call.op === 'update' && sortKey(call) === 'a';

type Paused = {
  readonly deps: ArchiveDeps;
  /** Resolves when it stands still. */
  readonly stands: Promise<void>;
  goOn(): void;
};

/** `dies`: that call is its last one. */
function pausedAt(
  world: ArchiveWorld,
  isCall: (call: Call) => boolean,
  options: { readonly fileBytesMax: number; readonly dies?: true },
): Paused {
  const { fileBytesMax, dies } = options;
  const [stood, went] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let waits = true;
  let isDead = false;
  const around = async <R>(call: Call, make: () => Promise<R>): Promise<R> => {
    if (isDead) throw new Error('killed');
    if (waits && isCall(call)) {
      waits = false;
      stood.resolve();
      await went.promise;
      isDead = dies === true;
    }
    return make();
  };
  const ports = { table: interceptTable(world.log.table, around), store: interceptStore(world.log.store, around) };
  return { deps: world.archiver({ ...ports, fileBytesMax }), stands: stood.promise, goOn: () => went.resolve() };
}

async function sealed(): Promise<{ readonly world: ArchiveWorld; readonly segment: SegmentId }> {
  const world = await createArchiveWorld();
  const segment = await world.log.make(ALL);
  for (const value of VALUES) await world.log.write(segment, value.repeat(100));
  await world.log.spill(segment);
  await world.log.seal(segment);
  return { world, segment };
}

describe.each([
  ['puts its record', isRecordPut],
  ['puts its file', isFilePut],
  ['says that its file is written', isWritten],
  ['raises the archive', isRaise],
])('an archiver that %s late', (_, isCall) => {
  test('changes nothing that others have done since', async () => {
    const { world, segment } = await sealed();
    const old = pausedAt(world, isCall, { fileBytesMax: 400 });
    const end = world.archive(segment, old.deps);
    await old.stands;
    await world.log.clock.advance(PLANNED_BY_OTHERS_MS);
    // With other bounds: where it has put no record, the files are others.
    expect(await world.archive(segment, world.archiver({ fileBytesMax: 1_000_000 }))).toBe('idle');
    const before = { state: await world.state(segment), files: await world.files() };
    old.goOn();
    expect(await end).toBe('idle');
    expect({ state: await world.state(segment), files: await world.files() }).toEqual(before);
    expect((await world.archived(segment)).map(textOf)).toEqual(VALUES.map((value) => value.repeat(100)));
  });

  test('changes nothing either if that is the last that it does', async () => {
    const { world, segment } = await sealed();
    const old = pausedAt(world, isCall, { fileBytesMax: 150, dies: true });
    const end = world.archive(segment, old.deps);
    await old.stands;
    await world.log.clock.advance(PLANNED_BY_OTHERS_MS);
    expect(await world.archive(segment)).toBe('idle');
    const before = await world.state(segment);
    old.goOn();
    await expect(end).rejects.toThrow('killed');
    expect(await world.state(segment)).toEqual(before);
  });

  test('does not bring back what was dropped meanwhile', async () => {
    const { world, segment } = await sealed();
    const { log } = world;
    const old = pausedAt(world, isCall, { fileBytesMax: 1_000_000 });
    const end = world.archive(segment, old.deps);
    await old.stands;
    // As retention does: it puts the record, dropped, or drops the one that is there, and is overtaken where that is written already.
    const place = { topic: log.topic.id, segment };
    const { records } = await world.state(segment);
    const planned = records[0] ?? { first: 0, last: 3, date: '2023-11-14', guard: '', highestTimestampMs: 0, bytes: 5, columns: [] };
    await putFileRecord(old.deps, place, { ...planned, state: 'dropped', atMs: 1 } as never, calm());
    const dropped = await updateFileRecord(old.deps, place, { first: 0, update: droppedUpdate(2) }, calm());
    old.goOn();
    expect(await end).toBe('idle');
    const { archive, records: after } = await world.state(segment);
    expect(after).toEqual([dropped]);
    expect(archive).toMatchObject(
      dropped.state === 'dropped' ? { through: 4, start: 4, goneBytes: dropped.bytes } : { through: 4, start: 0 },
    );
    expect(dropped.state).toBe(isCall === isRaise ? 'written' : 'dropped');
  });
});

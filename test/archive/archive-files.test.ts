import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { FILE_PUTS_MAX } from '../../src/model/archive-limits.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { encodeUpload } from '../../src/format/upload-item.ts';
import { uploadKey } from '../../src/format/item-key.ts';
import type { Minute } from '../../src/model/ids.ts';
import { readUpload } from '../../src/state/stored-uploads.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { calm, messages, textOf } from '../consume/fixture.ts';
import { appendUpload, find } from '../consume/uploaded.ts';
import { type ArchiveWorld, createArchiveWorld, HOUR_MS } from './archive-world.ts';

const ALL = { lo: 0, hi: 65_535 };

describe('a file in the store', () => {
  async function planned(): Promise<{ readonly world: ArchiveWorld; readonly segment: Awaited<ReturnType<ArchiveWorld['log']['make']>> }> {
    const world = await createArchiveWorld();
    const segment = await world.log.make(ALL);
    await world.log.write(segment, 'a', 'b');
    await world.log.seal(segment);
    return { world, segment };
  }

  test('that is there already is not put again', async () => {
    const { world, segment } = await planned();
    const { store } = world.log;
    const killed: ObjectStore = {
      ...store,
      async put(...call) {
        await store.put(...call);
        throw new Error('killed');
      },
    };
    await expect(world.archive(segment, world.archiver({ store: killed }))).rejects.toThrow('killed');
    await world.log.clock.advance(HOUR_MS);
    const readOnly: ObjectStore = { ...store, put: () => expect.unreachable('nothing is put') };
    expect(await world.archive(segment, world.archiver({ store: readOnly }))).toBe('idle');
    expect((await world.archived(segment)).map(textOf)).toEqual(['a', 'b']);
  });

  test.each([
    ['at its start', 0],
    ['in its rows', 60],
    ['in its footer', -30],
  ])('that is damaged %s is put again', async (_, place) => {
    const { world, segment } = await planned();
    const { store } = world.log;
    let puts = 0;
    const damaging: ObjectStore = {
      ...store,
      async put(key, body, signal) {
        puts += 1;
        const bytes = Buffer.concat(body);
        const at = place < 0 ? bytes.length + place : place;
        if (puts < FILE_PUTS_MAX) bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
        await store.put(key, [bytes], signal);
      },
    };
    expect(await world.archive(segment, world.archiver({ store: damaging }))).toBe('idle');
    expect(puts).toBe(FILE_PUTS_MAX);
    expect((await world.archived(segment)).map(textOf)).toEqual(['a', 'b']);
  });

  test('that is another one’s is put again', async () => {
    const { world, segment } = await planned();
    const { log } = world;
    const other = await log.make(ALL);
    await log.write(other, 'c');
    await log.seal(other);
    const bodies: (readonly Uint8Array[])[] = [];
    const confusing: ObjectStore = {
      ...log.store,
      async put(key, body, signal) {
        bodies.push(body);
        await log.store.put(key, bodies.length === 2 ? (bodies[0] ?? []) : body, signal);
      },
    };
    const archiver = world.archiver({ store: confusing });
    expect([await world.archive(segment, archiver), await world.archive(other, archiver)]).toEqual(['idle', 'idle']);
    expect(bodies.length).toBe(3);
    expect((await world.archived(other)).map(textOf)).toEqual(['c']);
  });

  test('that never comes back as it was put is left, and so are the messages', async () => {
    const { world, segment } = await planned();
    const { store } = world.log;
    const losing: ObjectStore = { ...store, put: async () => undefined };
    await expect(world.archive(segment, world.archiver({ store: losing }))).rejects.toMatchObject({ code: 'file-damaged' });
    expect((await world.state(segment)).archive.through).toBe(0);
  });

  test('is put again where the answer was lost', async () => {
    const { world, segment } = await planned();
    const { store } = world.log;
    let puts = 0;
    const losing: ObjectStore = {
      ...store,
      async put(...call) {
        await store.put(...call);
        puts += 1;
        if (puts === 1) throw new KelpError('indefinite', 'store-indefinite', 'planted');
      },
    };
    const end = world.archive(segment, world.archiver({ store: losing }));
    await expect.poll(() => world.log.clock.sleeping()).toBe(1);
    await world.log.clock.advance(1_000);
    expect(await end).toBe('idle');
    expect(puts).toBe(2);
  });
});

describe('uploaded batches', () => {
  test('that are quarantined are missing in files, and rows say so', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    await log.write(segment, 'a');
    const upload = await appendUpload(log, segment, { batches: [messages('bad'), messages('b'), messages('bad', 'bad')] });
    await find(log, upload, { checked: true, bad: [0, 2] });
    await log.seal(segment);
    expect(await world.archive(segment)).toBe('idle');
    expect((await world.archived(segment)).map((one) => [one.offset, textOf(one)])).toEqual([
      [0, 'a'],
      [2, 'b'],
    ]);
    expect((await world.state(segment)).records).toMatchObject([{ first: 0, last: 4, file: { rows: 2 } }]);
  });

  test('of which all are quarantined make a record without a file', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    const upload = await appendUpload(log, segment, { batches: [messages('bad', 'bad')] });
    await find(log, upload, { checked: true, bad: [0] });
    await log.seal(segment);
    expect(await world.archive(segment)).toBe('idle');
    const { archive, records } = await world.state(segment);
    expect(archive).toMatchObject({ through: 2, start: 0 });
    expect(records).toMatchObject([{ first: 0, last: 1, state: 'written', file: { rows: 0, misfits: 0, bytes: 0, footerBytes: 0 } }]);
    expect(await world.files()).toEqual([]);
  });

  test('that nobody has looked at are waited for, and what lies before them goes', async () => {
    const world = await createArchiveWorld();
    const { log, telemetry } = world;
    const segment = await log.make(ALL);
    await log.write(segment, 'a');
    const upload = await appendUpload(log, segment, { batches: [messages('b')] });
    await log.write(segment, 'c');
    await log.seal(segment);
    expect(await world.archive(segment)).toBe('idle');
    expect((await world.state(segment)).archive.through).toBe(0);
    await log.clock.advance(HOUR_MS);
    expect(await world.archive(segment)).toBe('held');
    expect((await world.archived(segment)).map(textOf)).toEqual(['a']);
    expect(telemetry.logs.at(-1)).toMatchObject({ level: 'error', message: 'messages cannot be archived', fields: { segment } });
    await find(log, upload, { checked: true, bad: [] });
    expect(await world.archive(segment)).toBe('idle');
    expect((await world.archived(segment)).map(textOf)).toEqual(['a', 'b', 'c']);
  });
});

describe('an upload that an entry names', () => {
  test('is submitted before the entry leaves the index (U2), whatever becomes of the file', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make(ALL);
    const { upload, offset } = await appendUpload(log, segment, { batches: [messages('a')] });
    const cid = (await log.head(segment)).entries.at(-1)?.cid ?? expect.unreachable('it was appended');
    const stored = await readUpload(log, log.topic.id, upload, calm());
    // As whoever has submitted it leaves it when it is stopped behind the commit.
    const attempt = { segment, cid, tail: offset, minute: '28333333' as Minute, owner: 'somebody', recordVersion: 1, delta: 0 };
    const { offset: _, ...rest } = stored ?? expect.unreachable('it was appended');
    const submitting = { ...rest, state: 'submitting' as const, checked: true, attempt };
    await log.table.put(uploadKey(log.topic.id, upload), encodeUpload(submitting), [], calm());
    await log.seal(segment);
    const atRaise: (string | undefined)[] = [];
    const table = interceptTable(log.table, async (call, make) => {
      const isRaise = call.op === 'update' && call.key.sk === 'a';
      if (isRaise) atRaise.push((await readUpload(log, log.topic.id, upload, calm()))?.state);
      return make();
    });
    expect(await world.archive(segment, world.archiver({ table }))).toBe('idle');
    expect(atRaise[0]).toBe('submitted');
    expect(await readUpload(log, log.topic.id, upload, calm())).toMatchObject({ state: 'submitted', offset });
  });
});

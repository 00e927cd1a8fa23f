import { describe, expect, test } from 'vitest';
import { archiveNext } from '../../../src/archive/archive-segment.ts';
import { fileRecordKey, pageSortKey, pagesPartition, uploadKey } from '../../../src/format/item-key.ts';
import { decodeUpload } from '../../../src/format/upload-item.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { Topic } from '../../../src/model/topic.ts';
import type { Upload } from '../../../src/model/upload.ts';
import { firstSegment, message } from '../../publish/requests.ts';
import { land, stage, submitting } from '../../reference/some-uploads.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { killAtEveryStep } from '../../simulation/kill-at-every-step.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../../simulation/world-faults.ts';
import {
  archive,
  archiverOf,
  checkKept,
  commits,
  FILE_AGE_MS,
  keptOf,
  placesOf,
  publish,
  type Scene,
  sceneOf,
  sweepOf,
  truncateOf,
} from './retention-world.ts';

// Retention that is killed, not answered, overtaken by others, or only asked what it would do.

type Everything = { readonly topic: Topic; readonly upload: Upload };

/** Files, one that somebody was stopped in, pages, a head, and an upload of which nobody has written that it is stored: all of it old. */
async function everyKind(world: TestWorld): Promise<Everything> {
  const at = await sceneOf(world, { maxAgeSeconds: 60 });
  await commits(at, 8, 500);
  await world.clock.advance(FILE_AGE_MS);
  await archive(at);
  await commits(at, 3, 500);
  await world.clock.advance(FILE_AGE_MS);
  await stopArchiving(at);
  const { archive: state, records } = await keptOf(world, at.topic, at.segment, at.broker.heads);
  expect([records.filter(({ state: one }) => one === 'planned').length, records.at(-1)?.first]).toEqual([1, state.through]);
  await commits(at, 17, 100);
  const { deps } = at.broker;
  const upload = await submitting(deps, at.topic, await stage(world, at.topic, { nowMs: world.clock.nowMs(), name: 'a' }));
  await world.run(land(deps, at.topic, upload));
  await commits(at, 1);
  await world.clock.advance(60_000);
  return { topic: at.topic, upload };
}

/** The record is put, and its file is not written. */
async function stopArchiving({ broker, topic, segment, world }: Scene): Promise<void> {
  const fails = { ...archiverOf(broker), messages: { read: () => unreadable() } };
  await expect(world.run(archiveNext(fails, topic, segment, world.signal))).rejects.toThrow('planted');
}

async function* unreadable(): AsyncGenerator<readonly never[], void, undefined> {
  yield [];
  throw new KelpError('unavailable', 'store-unavailable', 'planted');
}

const AFTERWARDS = '30/30/30';
const sweep = (world: TestWorld, broker: TestBroker = world.broker()) => world.run(sweepOf(broker));

async function checkEnd(world: TestWorld, { topic, upload }: Everything): Promise<void> {
  await checkKept(world, topic);
  expect(await placesOf(world, topic)).toEqual([AFTERWARDS]);
  const item = await world.table.get(uploadKey(topic.id, upload.upload), world.signal);
  expect(item && decodeUpload(item)).toMatchObject({ state: 'submitted', offset: 28 });
}

describe('retention', () => {
  test('lets go of files, of one that somebody was stopped in, of pages and of a head', async () => {
    const world = createTestWorld();
    const all = await everyKind(world);
    expect(await sweep(world)).toMatchObject({ messages: 30, failed: 0, complete: true, cuts: [{ start: 30 }] });
    await checkEnd(world, all);
  });

  test('that is killed between any two of its steps is done by the next one', async () => {
    const steps = await killAtEveryStep({
      prepare: everyKind,
      act: (broker) => sweepOf(broker),
      async check(world, all) {
        await checkKept(world, all.topic);
        expect(await sweep(world)).toMatchObject({ failed: 0, complete: true });
        await checkEnd(world, all);
        expect(await sweep(world)).toMatchObject({ messages: 0, failed: 0 });
      },
    });
    expect(steps).toBeGreaterThan(20);
  });

  test.each<readonly [string, readonly Fault[]]>([
    ['put page', ['lost', 'late', 'throttled', 'lost', 'conflict', 'late']],
    ['put page', ['late', 'dropped', 'lost', 'lost', 'late', 'late', 'lost']],
    ['update page', ['lost', 'late', 'throttled', 'lost', 'late', 'dropped', 'lost', 'late', 'late']],
    ['update page', ['conflict', 'late', 'late', 'lost', 'unavailable', 'lost', 'lost', 'late']],
    ['update head', ['lost', 'late']],
    ['put upload', ['lost', 'late', 'dropped', 'lost']],
  ])('with %s %j ends as without', async (call, faults) => {
    const world = createTestWorld();
    const all = await everyKind(world);
    const table = faultyTable(world.table, { [call]: faults });
    await sweep(world, world.broker({ table }));
    await checkKept(world, all.topic);
    await table.deliver();
    expect(table.calls.get(call)).toBeGreaterThan(0);
    await checkKept(world, all.topic);
    expect(await sweep(world)).toMatchObject({ failed: 0 });
    await checkEnd(world, all);
  });

  test('that is dry says the same, and changes nothing', async () => {
    const world = createTestWorld();
    const { topic } = await everyKind(world);
    const writes: string[] = [];
    const table = interceptTable(world.table, (call, make) => {
      if (call.op !== 'get' && call.op !== 'query') writes.push(call.name);
      return make();
    });
    const broker = world.broker({ table });
    const before = await placesOf(world, topic);
    const dry = await world.run(sweepOf(broker, { dryRun: true }));
    expect([writes, [...broker.notes.counts.keys()], await placesOf(world, topic)]).toEqual([[], [], before]);
    expect(await sweep(world)).toEqual(dry);
  });
});

describe('a file that somebody is writing', () => {
  /** The archiver comes to a stop before its nth call, and goes on once the messages are gone. */
  async function race(at: number): Promise<boolean> {
    const world = createTestWorld();
    const scene = await sceneOf(world, { maxAgeSeconds: 60 });
    await commits(scene, 20, 500);
    await world.clock.advance(60_000);
    let calls = 0;
    const table = interceptTable(world.table, async (_call, make) => {
      calls += 1;
      if (calls === at) await sweepOf(world.broker());
      return make();
    });
    await archive({ ...scene, broker: world.broker({ table }) });
    await checkKept(world, scene.topic);
    await sweep(world);
    await checkKept(world, scene.topic);
    expect(await placesOf(world, scene.topic)).toEqual(['20/20/20']);
    return calls >= at;
  }

  test('at whichever step, its messages go, and nothing else is as if it had been written', async () => {
    let steps = 0;
    while (await race(steps + 1)) steps += 1;
    expect(steps).toBeGreaterThan(10);
  });

  test('and that reaches beyond what is to go is waited for', async () => {
    const world = createTestWorld();
    const at = await sceneOf(world, { maxAgeSeconds: 30 });
    await commits(at, 10, 1_000);
    await world.clock.advance(5_000);
    await stopArchiving({ ...at, world });
    await world.clock.advance(20_000);
    // Five of them are old, of the seven or more of the record.
    const { records } = await keptOf(world, at.topic, at.segment, at.broker.heads);
    expect(records[0]?.last).toBeGreaterThan(5);
    expect(await sweep(world)).toMatchObject({ messages: 0, failed: 0, complete: true });
    expect(await placesOf(world, at.topic)).toEqual(['0/0/10']);
    await world.clock.advance(60_000);
    await archive({ ...at, broker: world.broker() });
    await sweep(world);
    expect(await placesOf(world, at.topic)).toEqual(['10/10/10']);
    await checkKept(world, at.topic);
  });

  test('and that was begun after a sweep had looked is waited for as well, and what it has is not said to have gone', async () => {
    const world = createTestWorld();
    const at = await sceneOf(world, { maxAgeSeconds: 30 });
    await commits(at, 10, 1_000);
    await world.clock.advance(25_000);
    let raced = false;
    const table = interceptTable(world.table, async (call, make) => {
      if (call.op === 'put' && call.key.sk.startsWith('f') && !raced) {
        raced = true;
        const stopped = archiveNext(
          { ...archiverOf(at.broker), messages: { read: () => unreadable() } },
          at.topic,
          at.segment,
          world.signal,
        );
        await expect(stopped).rejects.toThrow('planted');
      }
      return make();
    });
    expect(await sweep(world, world.broker({ table }))).toMatchObject({ messages: 0, bytes: 0, failed: 0, cuts: [] });
    expect([raced, await placesOf(world, at.topic)]).toEqual([true, ['0/0/10']]);
  });
});

describe('index pages that are gone', () => {
  const pages = async ({ world, topic, segment }: Scene) =>
    (await world.table.query({ pk: pagesPartition(topic.id, segment), from: 'p', to: 'q', limit: 100 }, world.signal)).items;
  async function removePages(at: Scene): Promise<void> {
    for (const { sk } of await pages(at))
      await at.world.table.delete({ pk: pagesPartition(at.topic.id, at.segment), sk: String(sk) }, [], at.world.signal);
  }

  test('since others have archived them meanwhile: what is left is done', async () => {
    const at = await sceneOf(createTestWorld());
    await commits(at, 20, 500);
    await at.world.clock.advance(FILE_AGE_MS);
    let looked = false;
    const table = interceptTable(at.world.table, async (call, make) => {
      if (call.op === 'query' && call.query.from === pageSortKey(0) && !looked) {
        looked = true;
        const other = { ...at, broker: at.world.broker() };
        while ((await archiveNext(archiverOf(other.broker), at.topic, at.segment, at.world.signal)).step === 'archived') continue;
        await removePages(at);
      }
      return make();
    });
    const { segments } = await at.world.run(truncateOf(at.world.broker({ table }), at.topic, { segment: at.segment, offset: 20 }));
    expect([looked, segments]).toMatchObject([true, [{ from: 0, start: 20 }]]);
    expect(await placesOf(at.world, at.topic)).toEqual(['20/20/20']);
    const { records } = await keptOf(at.world, at.topic, at.segment, at.broker.heads);
    expect(records.every(({ state }) => state === 'written')).toBe(true);
    await checkKept(at.world, at.topic);
  });

  test('for nothing: that is told, and everything stays', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 20);
    expect((await pages(at)).length).toBeGreaterThan(0);
    await removePages(at);
    await at.world.clock.advance(60_000);
    expect(await sweep(at.world)).toMatchObject({ messages: 0, failed: 1, complete: true });
    const cut = truncateOf(at.world.broker(), at.topic, { segment: at.segment, offset: 3 });
    await expect(at.world.run(cut)).rejects.toMatchObject({ kind: 'corrupt' });
    expect(await placesOf(at.world, at.topic)).toEqual(['0/0/20']);
  });

  test.each([
    ['and others behind them are not', 40],
    ['at the end, with an empty head', 32],
  ])('%s: that is a hole as well', async (_, count) => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, count);
    const [, second] = await pages(at);
    await at.world.table.delete({ pk: pagesPartition(at.topic.id, at.segment), sk: String(second?.['sk']) }, [], at.world.signal);
    await at.world.clock.advance(60_000);
    expect(await sweep(at.world)).toMatchObject({ messages: 0, failed: 1, complete: true });
    expect(await placesOf(at.world, at.topic)).toEqual([`0/0/${count}`]);
  });

  test.each([
    ['between others', 1],
    ['the last one', -1],
  ])('and a record, %s: that is told as well', async (_, place) => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 20, 500);
    await at.world.clock.advance(FILE_AGE_MS);
    await archive(at);
    const { records } = await keptOf(at.world, at.topic, at.segment, at.broker.heads);
    await at.world.table.delete(fileRecordKey(at.topic.id, at.segment, records.at(place)?.first ?? 0), [], at.world.signal);
    await at.world.clock.advance(60_000);
    expect(await sweep(at.world)).toMatchObject({ messages: 0, failed: 1 });
  });
});

test('a record that others have put is adopted, however far it goes', async () => {
  const world = createTestWorld();
  const at = await sceneOf(world, { maxAgeSeconds: 60 });
  for (let number = 0; number < 12; number += 1) {
    await publish(at, [message('a', `${number}`)]);
    await world.clock.advance(10_000);
  }
  // Before this one has put its record, another one puts a longer one, ten seconds later.
  let raced = false;
  const table = interceptTable(world.table, async (call, make) => {
    if (call.op === 'put' && call.key.sk.startsWith('f') && !raced) {
      raced = true;
      await world.clock.sleep(10_000, world.signal);
      await sweepOf(world.broker());
    }
    return make();
  });
  await world.run(sweepOf(world.broker({ table })));
  expect(raced).toBe(true);
  expect(await placesOf(world, at.topic)).toEqual(['8/8/12']);
  const { records } = await keptOf(world, at.topic, firstSegment(at.topic), at.broker.heads);
  expect(records.map(({ first, last, state }) => [first, last, state])).toEqual([[0, 7, 'dropped']]);
  await checkKept(world, at.topic);
});

import { describe, expect, test } from 'vitest';
import { headKey, uploadKey } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { uploadId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { SUBMITTING_MS_MAX, SWEPT_BEHIND_MS, UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { firstSegment } from '../publish/requests.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { killAtEveryStep } from '../simulation/kill-at-every-step.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';
import { become, BODY, land, left, leftInShort, NOTHING, stage, submitting, sweepOf } from './some-uploads.ts';

// A sweep that is killed, not answered, overtaken by others, or only asked what it would do.

const BATCH = rawBatch({ records: [{ key: 'k' }, { key: 'l' }] });
const LIE = rawBatch({ records: [{ key: 'k' }, { key: 'l' }], crcOff: 1 });

/** One of each kind: what a sweep leaves of them is in AFTERWARDS. */
async function everyKind(world: TestWorld): Promise<Topic> {
  const topic = await world.topic();
  const { deps } = world.broker();
  const nowMs = world.clock.nowMs();
  const put = (name: string, body?: Uint8Array | null) => stage(world, topic, { nowMs, name, ...(body === undefined ? {} : { body }) });
  const batches = (body: Uint8Array) => [{ start: 0, bytes: body.length, count: 2 }];

  await put('a'); // never submitted
  await put('b', null); // never uploaded
  await become(world, topic, await put('c'), { state: 'expired' }); // somebody was stopped
  await become(world, topic, await put('d', null), { state: 'expired' }); // and here, a step later
  await world.run(land(deps, topic, await submitting(deps, topic, await put('e')))); // stored, and nobody has said so
  await submitting(deps, topic, await put('f')); // not stored
  await world.run(land(deps, topic, await submitting(deps, topic, await put('g', BATCH), batches(BATCH))));
  await world.run(land(deps, topic, await submitting(deps, topic, await put('h', LIE), batches(LIE))));
  await world.store.put(uploadObjectKey(topic.id, uploadId(nowMs, 'orphan000')), [BODY], world.signal);
  await world.clock.advance(UPLOAD_MS + SWEPT_BEHIND_MS);
  await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'y' });
  await submitting(deps, topic, await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'z' }));
  return topic;
}

const AFTERWARDS = 'submitted:0, submitted:1, submitted:3, staged, submitting, 5 objects';
const SWEPT = { ...NOTHING, examined: 10, expired: 5, submitted: 3, orphans: 1, checked: 2, quarantined: 2, bytes: 4 * BODY.length };

async function checkEnd(world: TestWorld, topic: Topic): Promise<void> {
  expect(await leftInShort(world, topic)).toBe(AFTERWARDS);
  const { items } = await left(world, topic);
  expect(items.map(({ checked, quarantined }) => [checked, quarantined])).toEqual([
    [false, []],
    [true, []],
    [true, [{ first: 0, count: 2 }]],
    [false, []],
    [false, []],
  ]);
}

const sweep = (world: TestWorld, broker: TestBroker = world.broker()) => world.run(sweepOf(broker.deps));

describe('a sweep', () => {
  test('brings uploads of every kind to where they belong', async () => {
    const world = createTestWorld();
    const topic = await everyKind(world);
    expect(await sweep(world)).toEqual(SWEPT);
    await checkEnd(world, topic);
    // One submitted upload is behind that one, for good: the others are checked, and seen once more.
    expect(await sweep(world)).toEqual({ ...NOTHING, examined: 4 });
    expect(await sweep(world)).toEqual({ ...NOTHING, examined: 2 });
  });

  test('that is killed between any two of its steps is done by the next one', async () => {
    const steps = await killAtEveryStep({
      prepare: everyKind,
      act: (broker) => sweepOf(broker.deps),
      async check(world, topic) {
        expect(await sweep(world)).toMatchObject({ failed: 0, complete: true });
        await checkEnd(world, topic);
        expect(await sweep(world)).toMatchObject({ expired: 0, submitted: 0, orphans: 0, checked: 0 });
      },
    });
    expect(steps).toBeGreaterThan(30);
  });

  test.each<readonly [string, readonly Fault[]]>([
    ['put upload', ['lost', 'late', 'lost', 'conflict', 'throttled']],
    ['put upload', ['late', 'dropped', 'lost', 'lost', 'late', 'late', 'lost']],
    ['update head', ['lost', 'late', 'throttled', 'lost', 'late']],
    ['delete upload', ['lost', 'late', 'dropped', 'lost', 'unavailable', 'lost', 'late']],
  ])('with %s %j ends as without', async (call, faults) => {
    const world = createTestWorld();
    const topic = await everyKind(world);
    const table = faultyTable(world.table, { [call]: faults });
    expect(await sweep(world, world.broker({ table }))).toMatchObject({ failed: 0, complete: true });
    await table.deliver();
    expect(table.calls.get(call)).toBeGreaterThan(faults.length / 2);
    await sweep(world);
    await checkEnd(world, topic);
  });

  test.each(Array.from({ length: 12 }, (_, seed) => seed))('beside others ends as alone (seed %i)', async (seed) => {
    const world = createTestWorld(seed);
    const topic = await everyKind(world);
    const brokers = Array.from({ length: 3 }, (_, n) => {
      const random = world.random.fork(`sweeper ${n}`);
      const wait = <R>(make: () => Promise<R>, signal: AbortSignal): Promise<R> =>
        world.clock.sleep(Math.floor(random.fraction() * 5), signal).then(make);
      const table = interceptTable(world.table, (_call, make, signal) => wait(make, signal));
      const store = interceptStore(world.store, (_call, make, signal) => wait(make, signal));
      return world.broker({ table, store });
    });
    const swept = await world.run(Promise.all(brokers.map(({ deps }) => sweepOf(deps))));
    const sum = (of: 'expired' | 'failed'): number => swept.reduce((total, counts) => total + counts[of], 0);
    // Of several that delete an item, one has.
    expect([sum('expired'), sum('failed')]).toEqual([5, 0]);
    await sweep(world);
    await checkEnd(world, topic);
  });

  test('that is dry says the same, and changes nothing', async () => {
    const world = createTestWorld();
    const topic = await everyKind(world);
    const writes: string[] = [];
    const table = interceptTable(world.table, (call, make) => {
      if (call.op !== 'get' && call.op !== 'query') writes.push(call.name);
      return make();
    });
    const store = interceptStore(world.store, (call, make) => {
      if (call.op === 'put' || call.op === 'delete') writes.push(call.key);
      return make();
    });
    const { deps, notes } = world.broker({ table, store });
    const before = await left(world, topic);
    expect(await world.run(sweepOf(deps, { dryRun: true }))).toEqual(SWEPT);
    expect([writes, [...notes.counts.keys()]]).toEqual([[], []]);
    expect(await left(world, topic)).toEqual(before);
    expect(await sweep(world)).toEqual(SWEPT);
  });
});

describe('a sweep and a submit at the same time', () => {
  /** Time passes between the two at each step of the sweep: the submit comes in before the nth call. */
  async function race(lands: boolean, at: number): Promise<string | undefined> {
    const world = createTestWorld();
    const topic = await world.topic();
    const writer = world.broker();
    const upload = await submitting(writer.deps, topic, await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a' }));
    if (lands) await world.run(land(writer.deps, topic, upload));
    await world.clock.advance(UPLOAD_MS);
    let calls = 0;
    let outcome: string | undefined;
    const meet = async <R>(make: () => Promise<R>): Promise<R> => {
      calls += 1;
      if (calls === at) ({ outcome } = await land(world.broker().deps, topic, upload));
      return make();
    };
    const table = interceptTable(world.table, (_call, make) => meet(make));
    const store = interceptStore(world.store, (_call, make) => meet(make));
    await world.run(sweepOf(world.broker({ table, store }).deps));
    if (calls < at) return undefined;
    await sweep(world);
    // What is committed is there, and what is gone is committed nowhere.
    const head = await world.table.get(headKey(topic.id, firstSegment(topic)), world.signal);
    const isStored = head?.['tail'] === 1;
    expect(isStored).toBe(lands || outcome === 'done');
    expect(await leftInShort(world, topic)).toBe(isStored ? 'submitted:0, 1 objects' : '0 objects');
    return outcome;
  }

  test.each([true, false])('keeps what has landed, and ends what has not (landed before: %s)', async (lands) => {
    const outcomes = new Set<string>();
    for (let at = 1; ; at += 1) {
      const outcome = await race(lands, at);
      if (outcome === undefined) break;
      outcomes.add(outcome);
    }
    expect([...outcomes].toSorted()).toEqual(lands ? ['done'] : ['dead', 'done']);
  });

  test('of one that is due, the claim that came first holds', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { deps } = world.broker();
    const upload = await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a' });
    await world.clock.advance(UPLOAD_MS);
    // It is claimed, by a broker whose clock is behind, as the sweep is about to write.
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name === 'put upload') await submitting(deps, topic, upload);
      return make();
    });
    expect(await world.run(sweepOf(world.broker({ table }).deps))).toEqual({ ...NOTHING, examined: 1 });
    expect(await leftInShort(world, topic)).toBe('submitting, 1 objects');
  });

  test('a late claim, or a late write of an older sweep, brings nothing back', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const upload = await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a' });
    await world.clock.advance(UPLOAD_MS);
    const late = faultyTable(world.table, { 'put upload': ['late', 'dropped'], 'delete upload': ['late'] });
    await world.run(sweepOf(world.broker({ table: late }).deps));
    await late.deliver();
    expect(await leftInShort(world, topic)).toBe('0 objects');
    const claim = [{ op: '=' as const, path: ['version'], value: upload.version }];
    const written = await world.table.put(uploadKey(topic.id, upload.upload), {}, claim, world.signal);
    expect(written).toEqual({ applied: false, item: undefined });
  });
});

test('an attempt of a minute ago is nobody’s to end', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const { deps } = world.broker();
  const upload = await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a' });
  await world.clock.advance(UPLOAD_MS - 1);
  const claimed = await submitting(deps, topic, upload);
  await world.clock.advance(60_000);
  expect(await sweep(world)).toEqual({ ...NOTHING, examined: 1 });
  expect(await world.run(land(deps, topic, claimed))).toMatchObject({ outcome: 'done' });
  await world.clock.advance(SUBMITTING_MS_MAX);
  expect(await sweep(world)).toEqual({ ...NOTHING, examined: 1, submitted: 1 });
});

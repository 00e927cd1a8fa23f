import { describe, expect, test } from 'vitest';
import { headKey } from '../../src/format/item-key.ts';
import { minuteOf } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { brief, publishOf } from '../publish/requests.ts';
import { stage, submitBatches, submitOf, whereIs } from '../publish/uploads.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { readValues, type Stores } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { fill, NOTHING, pauseAtEveryCall, putOrphan, sweep, sweepOf, unreferenced } from './garbage-world.ts';

// Who sweeps has age 0 and a clock that is ahead: nothing but the floor keeps what is under way.

/** One less than what a broker spills: its next commit does. */
const NEARLY_SPILLED = 15;
/** Of one key in each half of the partitions. */
const BOTH = publishOf([
  ['k1', 'x'],
  ['k0', 'y'],
]);
const ONE = publishOf([['k1', 'z']]);

type There = { readonly world: TestWorld; readonly topic: Topic };

async function prepare(): Promise<There> {
  const world = createTestWorld();
  const topic = await world.topic(2);
  await fill(world, topic, NEARLY_SPILLED, 'k1');
  // What a broker that was stopped between PUT and commit has left.
  await putOrphan(world, topic);
  return { world, topic };
}

/** All that was acked is there once, and two sweeps later nothing else. */
async function check({ world, topic }: There, acked: readonly string[]): Promise<void> {
  for (let n = 0; n < 2; n += 1) expect(await sweep(world)).toMatchObject({ failed: 0, complete: true });
  expect(await unreferenced(world, topic)).toEqual([]);
  const values = await readValues(world, topic.id);
  expect(new Set(values).size).toBe(values.length);
  expect(values).toEqual(expect.arrayContaining([...acked]));
  expect(await sweep(world)).toEqual(NOTHING);
}

const isStored = (result: PublishResult): boolean => brief(result).every((one) => /^s\w{7}:\d+$/.test(one));

/** Publishes to both segments, and to one of them; all messages are to be stored. */
async function publishBoth(stores: Stores, { world, topic }: There): Promise<void> {
  const broker = world.broker(stores);
  for (const request of [BOTH, ONE]) {
    const result = await broker.publisher.publish(topic, request, world.signal);
    expect(brief(result)).toSatisfy(() => isStored(result));
  }
  await broker.notes.idle();
}

describe('whoever stands still at any call', () => {
  test('a publisher, while others sweep: what he has stored goes under his feet, and he stores it anew', async () => {
    const calls = await pauseAtEveryCall({
      prepare,
      act: publishBoth,
      meanwhile: ({ world }) => sweep(world),
      check: (there) => check(there, ['x', 'y', 'z']),
    });
    expect(calls).toBeGreaterThan(5);
  });

  test('a publisher, while others sweep and split his segment: he slices anew, and the old object goes', async () => {
    const meanwhile = async ({ world, topic }: There): Promise<void> => {
      await sweep(world);
      await replaceSegment(world, topic, { segment: topic.open[0]!.segment, children: 2 });
      await sweep(world);
    };
    await pauseAtEveryCall({ prepare, act: publishBoth, meanwhile, check: (there) => check(there, ['x', 'y', 'z']) });
  });

  test('whoever submits uploads, while others sweep: his attempt ends with its minute, and another one stores them', async () => {
    await pauseAtEveryCall({
      prepare: async () => {
        const there = await prepare();
        const { world, topic } = there;
        const [payload, batches] = [await stage(world, topic), await stage(world, topic)];
        const submits = await submitBatches(world, topic, { upload: batches, segment: topic.open[0]!.segment, batches: [['b1', 'b2']] });
        return { ...there, payload, batches, requests: [submitOf([['k0', payload]]), submits] };
      },
      act: async (stores, { world, topic, requests }) => {
        const broker = world.broker(stores);
        for (const request of requests) {
          const result = await broker.publisher.publish(topic, request, world.signal);
          expect(brief(result)).toSatisfy(() => isStored(result));
        }
        await broker.notes.idle();
      },
      meanwhile: ({ world }) => sweep(world),
      check: async (there) => {
        await check(there, ['b1', 'b2', there.payload]);
        const where = await Promise.all([there.payload, there.batches].map((upload) => whereIs(there.world, there.topic, upload)));
        expect(where).toEqual([expect.stringMatching(/^submitted/), expect.stringMatching(/^submitted/)]);
      },
    });
  });

  test('a sweeper, while others publish and spill', async () => {
    const calls = await pauseAtEveryCall({
      prepare,
      act: (stores, { world }) => sweepOf(world, { stores }),
      meanwhile: async (there) => {
        await there.world.run(publishBoth(there.world, there));
        await fill(there.world, there.topic, NEARLY_SPILLED, 'k0');
      },
      check: (there) => check(there, ['x', 'y', 'z', 'k00']),
    });
    expect(calls).toBeGreaterThan(20);
  });

  test('a sweeper, while others split, commit what was under way, and publish to the successors', async () => {
    await pauseAtEveryCall({
      prepare: async () => {
        const there = await prepare();
        const { world, topic } = there;
        // Between PUT and commit.
        const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
        const table = interceptTable(world.table, async (call, make) => {
          if (call.name === 'update head') await goesOn;
          return make();
        });
        const stopped = world.broker({ table }).publisher.publish(topic, publishOf([['k1', 'held']]), world.signal);
        await world.clock.advance(1);
        return { ...there, goOn, stopped };
      },
      act: (stores, { world }) => sweepOf(world, { stores }),
      meanwhile: async ({ world, topic, goOn, stopped }) => {
        await replaceSegment(world, topic, { segment: topic.open[0]!.segment, children: 2 });
        goOn();
        expect(isStored(await world.run(stopped))).toBe(true);
        await world.run(publishBoth(world, { world, topic }));
      },
      check: (there) => check(there, ['x', 'y', 'z', 'held']),
    });
  });

  test('whoever changes the topology, while others sweep: no segment takes what is below the floor', async () => {
    await pauseAtEveryCall({
      prepare,
      act: (stores, { world, topic }) => {
        const changing = { ...world, ...stores, run: <T>(work: Promise<T>) => work };
        return replaceSegment(changing, topic, { segment: topic.open[0]!.segment, children: 2 });
      },
      meanwhile: ({ world }) => sweep(world),
      check: async (there) => {
        const { world, topic } = there;
        const floors = await Promise.all(
          [topic.nextSegment, topic.nextSegment + 1].map(async (n) => {
            const segment = `s${n.toString(36).padStart(7, '0')}` as Topic['open'][number]['segment'];
            return (await world.table.get(headKey(topic.id, segment), world.signal))?.['f'];
          }),
        );
        expect(floors.every((floor) => String(floor) > minuteOf(world.clock.nowMs()))).toBe(true);
        await check(there, []);
      },
    });
  });

  test('a sweeper, while another one sweeps', async () => {
    await pauseAtEveryCall({
      prepare,
      act: (stores, { world }) => sweepOf(world, { stores }),
      meanwhile: ({ world }) => sweep(world),
      check: (there) => check(there, []),
    });
  });
});

import { describe, expect, test } from 'vitest';
import { segmentId } from '../../src/model/ids.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { killAtEveryStep } from '../simulation/kill-at-every-step.ts';
import { readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';
import { brief, firstSegment } from './requests.ts';
import { both, expectOnce, prepare, sent, submitBatches, submitOf, type There, whereIs } from './uploads.ts';

// Whoever submits an upload is killed, held up, not answered, or not alone. In the end it is in the log once, and says where.

describe('F1, F2, F3, F23: killed at any step,', () => {
  test('whoever submits them again stores them once, or is told where they are', async () => {
    const steps = await killAtEveryStep({
      prepare,
      act: (broker, { topic, uploads }, world) => broker.publisher.publish(topic, both(uploads), world.signal),
      async check(world, { topic, uploads }) {
        const again = await sent(world, topic, both(uploads));
        expect(again.map((one) => (one === 'upload-submitted' ? one : one.slice(0, 9)))).toEqual([
          expect.stringMatching(/^(s0000001:|upload-submitted)/),
          expect.stringMatching(/^(s0000000:|upload-submitted)/),
        ]);
        await expectOnce(world, topic, uploads);
      },
    });
    // Of each a read of its item and of its head, and a write of its item, of its head and of its item again; and one PUT.
    expect(steps).toBe(11);
  });

  test('a repeat under the same key stores them once', async () => {
    const steps = await killAtEveryStep({
      prepare,
      act: (broker, { topic, uploads }, world) => broker.publisher.publish(topic, both(uploads, 'k'), world.signal),
      async check(world, { topic, uploads }) {
        const again = await sent(world, topic, both(uploads, 'k'));
        expect(again.map((one) => one.replace(' again', ''))).toEqual(['s0000001:0', 's0000000:0']);
        await expectOnce(world, topic, uploads);
      },
    });
    expect(steps).toBeGreaterThanOrEqual(13);
  });

  test('a repeat behind a seal stores them once', async () => {
    await killAtEveryStep({
      prepare,
      act: (broker, { topic, uploads }, world) => broker.publisher.publish(topic, both(uploads, 'k'), world.signal),
      async check(world, { topic, uploads }) {
        await replaceSegment(world, topic, { segment: firstSegment(topic), children: 2 });
        const again = await sent(world, topic, both(uploads, 'k'));
        expect(await sent(world, topic, both(uploads, 'k'))).toEqual(again.map((one) => `${one.replace(' again', '')} again`));
        await expectOnce(world, topic, uploads);
      },
    });
  });

  test('a batch upload is stored once', async () => {
    await killAtEveryStep({
      async prepare(world) {
        const there = await prepare(world);
        const [upload] = there.uploads;
        return {
          ...there,
          upload,
          request: await submitBatches(world, there.topic, { upload, segment: segmentId(0), batches: [['1'], ['2']] }),
        };
      },
      act: (broker, { topic, request }, world) => broker.publisher.publish(topic, request, world.signal),
      async check(world, { topic, request, upload }) {
        expect([
          ['s0000000:0', 's0000000:1'],
          ['upload-submitted', 'upload-submitted'],
        ]).toContainEqual(await sent(world, topic, request));
        expect(await readValues(world, topic.id)).toEqual(['1', '2']);
        expect(await whereIs(world, topic, upload)).toBe('submitted s0000000:0');
      },
    });
  });

  test('who takes them over from somebody that is held up leaves them to the next one', async () => {
    const thaws: (() => Promise<void>)[] = [];
    await killAtEveryStep({
      async prepare(world) {
        const there = await prepare(world);
        thaws.push(await heldUp(world, there, both(there.uploads)));
        return there;
      },
      act: (broker, { topic, uploads }, world) => broker.publisher.publish(topic, both(uploads), world.signal),
      async check(world, { topic, uploads }) {
        await sent(world, topic, both(uploads));
        await thaws.at(-1)?.();
        await expectOnce(world, topic, uploads);
      },
    });
  });
});

/** Somebody who has claimed everything and is held up before he commits. Answers what lets him go on, to his end. */
async function heldUp(world: TestWorld, { topic }: There, request: PublishRequest): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const table = interceptTable(world.table, async (call, make) => {
    if (call.name === 'update head') await held.promise;
    return make();
  });
  const published = world.broker({ table }).publisher.publish(topic, request, world.signal);
  await world.clock.advance(100);
  return async () => {
    held.resolve();
    await world.run(published);
  };
}

describe('two requests', () => {
  test('that submit the same uploads: one has them, and the other one stores nothing', async () => {
    const world = createTestWorld();
    const there = await prepare(world);
    const { topic, uploads } = there;
    const thaw = await heldUp(world, there, both(uploads));
    expect(await sent(world, topic, both(uploads))).toEqual(['s0000001:0', 's0000000:0']);
    await thaw();
    await expectOnce(world, topic, uploads);
  });

  test('of which one is held up once it has lost them says that another one has them, and nothing of it is stored', async () => {
    const world = createTestWorld();
    const there = await prepare(world);
    const { topic, uploads } = there;
    const [a] = uploads;
    // Both are held up before they commit: the second one has taken over by then.
    const results: string[][] = [];
    const hold = Promise.withResolvers<void>();
    const later = Promise.withResolvers<void>();
    const submit = (until: Promise<void>): Promise<void> => {
      const table = interceptTable(world.table, async (call, make) => {
        if (call.name === 'update head' && call.op === 'update' && call.update.changes.length > 1) await until;
        return make();
      });
      return world
        .broker({ table })
        .publisher.publish(topic, submitOf([a]), world.signal)
        .then((result) => void results.push(brief(result)));
    };
    const first = submit(hold.promise);
    await world.clock.advance(100);
    const second = submit(later.promise);
    await world.clock.advance(100);
    hold.resolve();
    await world.run(first);
    expect(results).toEqual([['upload-in-use']]);
    later.resolve();
    await world.run(second);
    expect(results[1]).toEqual([expect.stringMatching(/^s\w{7}:0$/)]);
    await expectOnce(world, topic, [a]);
  });

  test('one of them wins, however they are interleaved, also where they meet at several uploads', async () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const world = createTestWorld(seed);
      const { topic, uploads } = await prepare(world);
      const [a, b] = uploads;
      const slow = (): TestBroker => {
        const table = interceptTable(world.table, async (_, make) => {
          await world.clock.sleep(world.random.integer(20), world.signal);
          return make();
        });
        return world.broker({ table });
      };
      const requests = [submitOf([a, b]), submitOf([b, a])];
      const results = await world.run(Promise.all(requests.map((request) => slow().publisher.publish(topic, request, world.signal))));
      const won = results.filter((result) => brief(result).every((one) => one.startsWith('s0')));
      expect([seed, won.length]).toEqual([seed, 1]);
      const lost = results.flatMap((result) => brief(result)).filter((one) => !one.startsWith('s0'));
      expect(['upload-submitted', 'upload-in-use']).toEqual(expect.arrayContaining([...new Set(lost)]));
      await expectOnce(world, topic, uploads);
    }
  });
});

describe('F5, F27: writes that are lost, late or doubled', () => {
  const plans: Readonly<Record<string, readonly Fault[]>> = {
    lost: ['lost'],
    dropped: ['dropped'],
    late: ['late'],
    'late twice': ['late', 'ok', 'late'],
  };
  for (const name of ['put upload', 'update head', 'put request']) {
    for (const [kind, plan] of Object.entries(plans)) {
      test(`${name}: ${kind}`, async () => {
        const world = createTestWorld();
        const { topic, uploads } = await prepare(world);
        const table = faultyTable(world.table, { [name]: plan });
        const broker = world.broker({ table });
        const first = await sent(world, topic, both(uploads, 'k'), broker);
        await table.deliver();
        const again = await sent(world, topic, both(uploads, 'k'));
        expect(again.map((one) => one.replace(' again', ''))).toEqual(['s0000001:0', 's0000000:0']);
        for (const one of first) expect(one).toMatch(/^s\w{7}:0|^indefinite$/);
        await expectOnce(world, topic, uploads);
      });
    }
  }
});

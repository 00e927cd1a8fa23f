import { describe, expect, test } from 'vitest';
import { segmentId } from '../../../src/model/ids.ts';
import { LOOKS_PARALLEL_MAX, QUIET_LOOK_MS_MAX, TOPICS_READ_MS } from '../../../src/model/scaling-limits.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { putBroker, someBroker } from '../some-broker.ts';
import { createFloodWorld, even } from './flood-world.ts';
import { end, type Scene, scene, TICK_MS } from './leading-scene.ts';

// Topics in which nothing happens, and topics that come and go.

const MINUTE_MS = 60_000;

describe('what it costs', () => {
  test('of an idle leader with two topics: some operations a minute', async () => {
    const at = await scene();
    const { world, calls } = at;
    for (const name of ['one', 'two']) await world.flooded({}, { name });
    await world.clock.advance(5 * MINUTE_MS);
    calls.length = 0;
    await world.clock.advance(10 * MINUTE_MS);
    const ofScaling = calls.filter((name) => /topic|head|name/.test(name));
    expect(ofScaling.length / 10).toBeLessThanOrEqual(4);
    await end(at);
  });

  test('of a thousand idle topics: no more looks a second than it may, and each of them every two minutes', async () => {
    const at = await scene();
    const { world, calls } = at;
    for (let n = 0; n < 1_000; n += 1) await world.flooded({}, { name: `t${n}` });
    const most = await mostASecond(at, 180);
    expect(most).toBeLessThanOrEqual(100 + 5);
    calls.length = 0;
    await world.clock.advance(2 * QUIET_LOOK_MS_MAX);
    const heads = calls.filter((name) => name === 'get head').length;
    expect(heads).toBeGreaterThanOrEqual(1_000);
    expect(heads).toBeLessThanOrEqual(2_200);
    await end(at);
  }, 60_000);

  test('a table that is slow has the looks of a few topics to answer at a time, and no more', async () => {
    const world = createFloodWorld();
    const [a] = [await world.live('a'), await world.live('b')];
    for (let n = 0; n < 40; n += 1) await world.flooded({}, { name: `t${n}` });
    let [underWay, most, made] = [0, 0, 0];
    const table = interceptTable(world.table, async (call, make, signal) => {
      // Of the topics themselves: each look reads its own, and a head.
      if (!/get (topic|head)/.test(call.name)) return make();
      underWay += 1;
      most = Math.max(most, underWay);
      await world.clock.sleep(300, signal);
      underWay -= 1;
      made += 1;
      return make();
    });
    const leading = world.leader(a, { table, rebalanceMs: TICK_MS }).lead();
    await world.clock.advance(MINUTE_MS);
    expect(most).toBe(LOOKS_PARALLEL_MAX);
    // Of those that end, others take the places.
    expect(made).toBeGreaterThan(200);
    await leading.stop();
  });

  async function mostASecond({ world, calls }: Scene, seconds: number): Promise<number> {
    let most = 0;
    for (let second = 0; second < seconds; second += 1) {
      calls.length = 0;
      await world.clock.advance(1_000);
      most = Math.max(most, calls.filter((name) => /topic|head/.test(name)).length);
    }
    return most;
  }
});

test('topics that come are found, those that go are forgotten', async () => {
  const at = await scene();
  const { world, leader, calls } = at;
  const gone = await world.flooded({}, { name: 'gone' });
  await world.clock.advance(MINUTE_MS);
  await world.run(world.broker().topics.delete('gone', world.signal));
  const topic = await world.flooded();
  await world.flow(topic, even(6_000), { seconds: TOPICS_READ_MS / 1_000 + 20 });
  expect((await world.open(topic)).length).toBeGreaterThan(1);
  await world.run(world.broker().topics.delete('t', world.signal));
  await world.clock.advance(5 * MINUTE_MS);
  calls.length = 0;
  await world.clock.advance(5 * MINUTE_MS);
  expect(calls.filter((name) => /topic|head/.test(name))).toEqual([]);
  expect(await world.run(leader.duties.loads(gone.id, world.signal))).toEqual({ segments: [], hotKeys: [] });
  await end(at);
});

test('a topic that is gone is looked for no more, though a broker’s item goes on naming it', async () => {
  const at = await scene();
  const { world, calls } = at;
  const gone = await world.flooded({}, { name: 'gone' });
  const pressure = [{ topic: gone.id, segment: segmentId(0), throttledWrites: 3, queuedMs: 0 }];
  await putBroker(world.table, someBroker('b', { pressure, version: 1_000 }));
  await world.clock.advance(MINUTE_MS);
  await world.run(world.broker().topics.delete('gone', world.signal));
  calls.length = 0;
  await world.clock.advance(MINUTE_MS);
  // The one that finds that it is gone, and one for each listing that had it still.
  expect(calls.filter((name) => name === 'get topic').length).toBeLessThanOrEqual(3);
  await end(at);
});

import { expect, test } from 'vitest';
import type { Topic } from '../../../src/model/topic.ts';
import { even } from './flood-world.ts';
import { end, scene } from './leading-scene.ts';

// More topics than one leader can look at as often as it would like to.

const TOPICS = 10_000;
const MINUTE_MS = 60_000;

test('ten thousand idle topics shrink, and a flood among them is split within seconds of its nudge: by a new leader, and by an old one', async () => {
  const topics: Topic[] = [];
  const at = await scene({}, async (world) => {
    for (let n = 0; n < TOPICS; n += 1) topics.push(await world.flooded({}, { name: `t${n}`, segments: n % 16 === 0 ? 2 : 1 }));
    await world.clock.advance(10 * MINUTE_MS);
  });
  const { world, leader } = at;
  const splitAfter = async (topic: Topic): Promise<number> => {
    const { length } = await world.open(topic);
    for (let second = 1; second <= 60; second += 1) {
      if (second % 2 === 1) await leader.duties.nudge(topic.id, [], world.signal);
      await world.flow(topic, even(10_000), { seconds: 1 });
      if ((await world.open(topic)).length > length) return second;
    }
    return Infinity;
  };
  const took = [await splitAfter(topics.at(-1) as Topic)];
  // Each has been looked at by then, and many of them so long ago that no average since is an observation.
  await world.clock.advance(7 * MINUTE_MS);
  took.push(await splitAfter(topics.at(-2) as Topic));
  expect(Math.max(...took)).toBeLessThanOrEqual(15);
  expect(leader.telemetry.counts.filter(({ attributes }) => attributes['kind'] === 'merge').length).toBeGreaterThan(TOPICS / 20);
  await end(at);
}, 120_000);

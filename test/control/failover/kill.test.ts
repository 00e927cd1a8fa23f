import { expect, test } from 'vitest';
import { servedKey, servedPartition } from '../../../src/format/item-key.ts';
import { encodeServed } from '../../../src/format/served-item.ts';
import { assignUpdate } from '../../../src/protocol/segment-life.ts';
import { headKey } from '../../../src/format/item-key.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { publishOf } from '../../publish/requests.ts';
import { killAtEveryStep } from '../../simulation/kill-at-every-step.ts';
import { readValues } from '../../simulation/read-log.ts';
import type { TestBroker, TestWorld } from '../../simulation/test-broker.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';
import { problemsOf, readLineage, unlisted } from './check-topology.ts';
import { createFakePeers } from './fake-peers.ts';
import { createTestLeader, type TestLeader } from './world.ts';

// F28: a leader is killed at each step of moving a dead broker's segments, before and after the step takes effect.

const [a, b, c] = [brokerId('a'), brokerId('b'), brokerId('c')];
const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4', 'k6'];
const ALL = KEYS.map((key) => [key, `of ${key}`] as const);
const values = ALL.map(([, value]) => value);

async function prepare(world: TestWorld): Promise<Topic> {
  const topic = await world.topic(3);
  for (const id of [a, b, c]) await putBroker(world.table, someBroker(id));
  for (const { segment } of topic.open) {
    await world.table.put(servedKey(b, topic.id, segment), encodeServed({ topic: topic.id, segment }), [], world.signal);
    await world.table.update(headKey(topic.id, segment), assignUpdate([b]), world.signal);
  }
  await world.run(world.broker().publisher.publish(topic, publishOf(ALL), world.signal));
  return topic;
}

function leaderOn(world: TestWorld, table: TestWorld['table'], self: typeof a): TestLeader {
  const peers = createFakePeers();
  for (const id of [a, c]) peers.set(id, 'answers');
  return createTestLeader({ table, clock: world.clock, random: world.random.fork(`leader ${self}`), peers, self });
}

/** Leads until nothing of the dead broker is left. */
async function leadUntilLeft(leader: TestLeader, world: TestWorld): Promise<void> {
  const leading = leader.lead();
  const left = async (): Promise<boolean> => {
    const brokers = await leader.deps.directory.list({ fresh: true }, world.signal);
    return brokers.every((broker) => broker.id !== b);
  };
  while (!(await left())) await world.clock.sleep(100, world.signal);
  await leading.stop();
}

test('another leader carries on: ranges tile, each parent has one successor, every range takes messages, and none is lost', async () => {
  const steps = await killAtEveryStep({
    prepare,
    act: (broker: TestBroker, _, world) => leadUntilLeft(leaderOn(world, broker.deps.table, a), world),
    async check(world, topic) {
      // While nobody leads, a publisher that knows only the old list, and one that knows nothing.
      const late = await world.run(world.broker().publisher.publish(topic, publishOf(ALL), world.signal));
      expect(late.every((one) => 'offset' in one)).toBe(true);
      await world.run(leadUntilLeft(leaderOn(world, world.table, c), world));
      const lineage = await readLineage(world.table, topic.id);
      expect(problemsOf(lineage)).toEqual([]);
      expect(lineage.heads.size).toBe(6);
      expect(await unlisted(world.table, [lineage], { brokers: [a, c], exact: false })).toEqual([]);
      expect((await world.table.query({ pk: servedPartition(b), limit: 10 }, world.signal)).items).toEqual([]);
      const fresh = await world.run(world.broker().topics.resolve('t', { fresh: true }, world.signal));
      await world.run(world.broker().publisher.publish(fresh, publishOf(ALL), world.signal));
      expect((await readValues(world, topic.id)).toSorted()).toEqual([...values, ...values, ...values].toSorted());
    },
  });
  // Items of all brokers, list, heads; intent; of each segment 2 lists, item, head, floor, seal, list, open; publish; the item.
  expect(steps).toBeGreaterThanOrEqual(30);
});

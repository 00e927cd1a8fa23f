import { expect, test } from 'vitest';
import type { BrokerId, TopicId } from '../../../src/model/ids.ts';
import { CHANGE_PARALLEL_MAX, MOVED_AT_ONCE_MAX, MOVES_PARALLEL_MAX } from '../../../src/model/limits.ts';
import { topicKey } from '../../../src/format/item-key.ts';
import { publishOf } from '../../publish/requests.ts';
import { interceptTable, type TableCall } from '../../simulation/intercept.ts';
import { problemsOf, readLineage, unlisted } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld } from './world.ts';

const SEGMENTS = 750;
const FEW = 70;
const TOPICS = ['t0', 't1', 't2', 't3'];
const WRITTEN = ['t2', 't3'];

type Dead = {
  readonly world: FailoverWorld;
  readonly topics: readonly TopicId[];
  readonly a: BrokerId;
  readonly b: BrokerId;
  readonly c: BrokerId;
};

/** Four topics whose segments are all served by `b` and `c`; of two of them, some were written to. Then `b` dies. */
async function deadBroker(segments: number): Promise<Dead> {
  const world = createFailoverWorld();
  const [a, b, c] = [await world.live('a'), await world.live('b'), await world.live('c')];
  const topics: TopicId[] = [];
  for (const name of TOPICS) {
    const topic = await world.topic(segments, name);
    topics.push(topic.id);
    for (const { segment } of topic.open) await world.assign(topic, segment, [b, c]);
    if (!WRITTEN.includes(name)) continue;
    const keys = Array.from({ length: 30 }, (_, n) => [`${name}/${n}`, 'x'] as const);
    await world.run(world.broker().publisher.publish(topic, publishOf(keys), world.signal));
  }
  world.kill(b);
  return { world, topics, a, b, c };
}

test('3,000 segments of a dead broker: written-to ones first, few writes of each topic’s item, all of them moved', async () => {
  const { world, topics, a, b, c } = await deadBroker(SEGMENTS);
  const puts = new Map<string, number>();
  const sealed: number[] = [];
  let [inFlight, inFlightMax] = [0, 0];
  const note = (call: TableCall): void => {
    if (call.op === 'put' && call.name === 'put topic') puts.set(call.key.pk, (puts.get(call.key.pk) ?? 0) + 1);
  };
  const table = interceptTable(world.table, async (call, make, signal) => {
    note(call);
    inFlight += 1;
    inFlightMax = Math.max(inFlightMax, inFlight);
    await world.clock.sleep(2, signal);
    const answer = await make();
    inFlight -= 1;
    if (call.name === 'update head' && call.op === 'update' && JSON.stringify(call.update).includes('"sealed"')) {
      sealed.push((answer as { readonly item: { readonly tail: number } }).item.tail);
    }
    return answer;
  });
  const leader = world.leader(a, { table });
  const leading = leader.lead();
  await world.until(async () => (await world.record(b)) === undefined);
  await leading.stop();

  const lineages = await Promise.all(topics.map((topic) => readLineage(world.table, topic)));
  expect(lineages.flatMap(problemsOf)).toEqual([]);
  expect(await unlisted(world.table, lineages, { brokers: [a, b, c], exact: true })).toEqual([]);
  const open = lineages.flatMap(({ topic, heads }) => topic.open.map(({ segment }) => heads.get(segment)?.brokers.toSorted().join()));
  expect(open).toHaveLength(TOPICS.length * SEGMENTS);
  expect(new Set(open)).toEqual(new Set(['a,c']));
  expect(leader.telemetry.total('kelp.segments.moved')).toBe(TOPICS.length * SEGMENTS);

  const batches = Math.ceil(SEGMENTS / MOVED_AT_ONCE_MAX);
  for (const topic of topics) expect(puts.get(topicKey(topic).pk)).toBeLessThanOrEqual(2 * batches + 2);
  // Those with messages stand in the first batch of their topic, and batches of at most four topics are under way.
  const written = sealed.flatMap((tail, at) => (tail > 0 ? [at] : []));
  expect(written.length).toBeGreaterThan(30);
  expect(Math.max(...written)).toBeLessThan((MOVES_PARALLEL_MAX + 1) * MOVED_AT_ONCE_MAX);
  expect(inFlightMax).toBeLessThanOrEqual(MOVES_PARALLEL_MAX * CHANGE_PARALLEL_MAX * 2 + 8);
});

test('a topic whose item can’t be written keeps no other one', async () => {
  const { world, topics, a, b } = await deadBroker(FEW);
  const rotten = topicKey(topics[2] as TopicId).pk;
  const table = interceptTable(world.table, async (call, make, signal) => {
    if (call.op === 'put' && call.key.pk === rotten) await world.clock.sleep(1_000_000, signal);
    return make();
  });
  const leader = world.leader(a, { table });
  const leading = leader.lead();
  await world.until(async () => (await world.table.query({ pk: `a#${b}`, limit: 10_000 }, world.signal)).items.length === FEW);
  expect(await world.record(b)).toBeDefined();
  await leading.stop();
});

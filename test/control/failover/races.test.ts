import { expect, test } from 'vitest';
import type { BrokerId } from '../../../src/model/ids.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { publishOf } from '../../publish/requests.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { readValues } from '../../simulation/read-log.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { problemsOf, readLineage, unlisted } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type Leading } from './world.ts';

// F6, F8, F14: two leaders at once, each at its own pace, one of which may be paused for long at any call; and writers meanwhile.

const SEEDS = 120;

/** Each call waits before and after it takes effect, most of them little, some so long that everything else is over. */
function paced(world: FailoverWorld, random: SeededRandom, pauseMs: number): MetadataTable {
  const wait = (signal: AbortSignal): Promise<void> =>
    world.clock.sleep(random.chance(0.01) ? random.integer(pauseMs) : random.integer(20), signal);
  return interceptTable(world.table, async (_, make, signal) => {
    await wait(signal);
    const answer = await make();
    await wait(signal);
    return answer;
  });
}

async function race(seed: number): Promise<void> {
  const world = createFailoverWorld(seed);
  const { random } = world;
  const topic = await world.topic(1 + random.integer(12));
  const brokers: BrokerId[] = [];
  for (const id of ['a', 'b', 'c', 'd']) brokers.push(await world.live(id));
  const [a, b, c, d] = brokers as [BrokerId, BrokerId, BrokerId, BrokerId];
  for (const { segment } of topic.open) await world.assign(topic, segment, random.chance(0.5) ? [b] : [b, d]);
  const leaders = [a, c].map((self) => world.leader(self, { table: paced(world, random.fork(`pace ${self}`), 4_000) }));
  const leading: Leading[] = leaders.map((leader) => leader.lead());
  // One dies, another is drained, at times that overlap.
  world.kill(b);
  const drained = world.clock
    .sleep(random.integer(4_000), world.signal)
    .then(() => leaders[random.integer(2)]?.duties.drain(d, { perSecond: 5 + random.integer(50) }, world.signal));
  const writer = world.broker({ table: paced(world, random.fork('writer'), 1_000) });
  const published: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const value = `v${n}`;
    await world.run(writer.publisher.publish(topic, publishOf([[`k${n}`, value]]), world.signal));
    published.push(value);
    await world.clock.advance(random.integer(1_500));
  }
  await world.run(drained);
  await world.until(async () => (await world.record(b)) === undefined && (await world.record(d)) === undefined);
  for (const one of leading) void one.stop();
  await world.run(Promise.all(leading.map(({ over }) => over)));
  // What was under way when a term ended is finished by whoever comes.
  await world.run(world.broker().topics.resolve('t', { fresh: true }, world.signal));

  const lineage = await readLineage(world.table, topic.id);
  expect(problemsOf(lineage)).toEqual([]);
  for (const { segment } of lineage.topic.open) {
    const serving = lineage.heads.get(segment)?.brokers ?? [];
    expect(serving.filter((broker) => broker === b || broker === d)).toEqual([]);
    expect(serving.length).toBeGreaterThan(0);
  }
  expect(await unlisted(world.table, [lineage], { brokers: [a, c], exact: false })).toEqual([]);
  expect((await readValues(world, topic.id)).toSorted()).toEqual(published.toSorted());
}

test(`two leaders at once, ${SEEDS} ways to meet`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await race(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed}`, { cause });
    });
  }
  expect.hasAssertions();
});

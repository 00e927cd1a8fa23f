import { expect, test } from 'vitest';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createFaultyTable, type TableFault } from '../../faults/faulty-table.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { tiles } from '../../topology/tiles.ts';
import type { TestLeader } from '../failover/world.ts';
import { createFloodWorld, even, type FloodWorld } from './flood-world.ts';

const TICK_MS = 5_000;
const MINUTE_MS = 60_000;
const SEEDS = 8;

/** Each request takes as long as it likes, some of them so long that the leader has slept meanwhile. */
function paced(world: FloodWorld, name: string): MetadataTable {
  const random = world.random.fork(`pace of ${name}`);
  const pauseMs = (): number => (random.chance(0.01) ? random.integer(40_000) : random.integer(40));
  return interceptTable(world.table, async (_, make, signal) => {
    await world.clock.sleep(pauseMs(), signal);
    const answer = await make();
    await world.clock.sleep(pauseMs(), signal);
    return answer;
  });
}

const changesOf = ({ telemetry }: TestLeader): number => telemetry.total('kelp.rebalance.changes');

test(`F8, F6: two leaders at once, each of them asleep now and then, ${SEEDS} ways to meet`, async () => {
  const made = [0, 0];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = createFloodWorld(seed);
    const ids = [await world.live('a'), await world.live('b')];
    const topic = await world.flooded({ minSegments: 2 }, { segments: 2 });
    const leaders = ids.map((id) => world.leader(id, { table: paced(world, id), rebalanceMs: TICK_MS }));
    const leadings = leaders.map((leader) => leader.lead());
    await world.clock.advance(MINUTE_MS);
    await world.flow(topic, even(6_000), { seconds: 90 });
    expect((await world.open(topic)).length).toBeGreaterThan(2);
    await world.clock.advance(40 * MINUTE_MS);
    await Promise.all(leadings.map((leading) => world.run(leading.stop())));
    expect({ seed, problems: world.watch.problems(), open: (await world.open(topic)).length }).toEqual({ seed, problems: [], open: 2 });
    for (const [n, leader] of leaders.entries()) made[n] = (made[n] ?? 0) + changesOf(leader);
  }
  expect(made.every((changes) => changes > 2 * SEEDS)).toBe(true);
}, 60_000);

test('F6: a leader that slept between its look and its change changes nothing that was decided since', async () => {
  const world = createFloodWorld();
  const [a, b] = [await world.live('a'), await world.live('b')];
  const topic = await world.flooded();
  let asleep: Promise<void> | undefined;
  let wake = (): void => undefined;
  const sleepy = interceptTable(world.table, async (call, make) => {
    if (call.op === 'put' && call.key.sk === 'topic' && asleep === undefined) {
      asleep = new Promise((resolve) => (wake = resolve));
      await asleep;
    }
    return make();
  });
  const [slept, other] = [world.leader(a, { table: sleepy }), world.leader(b)];
  const look = (leader: TestLeader) => leader.duties.rebalance({ topic: topic.id, dryRun: false }, world.signal);
  await world.run(Promise.all([look(slept), look(other)]));
  await world.flow(topic, even(3_000), { seconds: 15 });
  const late = look(slept);
  await world.clock.advance(1_000);
  await world.run(look(other));
  const decided = await world.read(topic);
  expect(decided.open).toHaveLength(2);
  await world.clock.advance(60 * MINUTE_MS);
  wake();
  const [plan] = await world.run(late);
  expect(plan?.changes).toMatchObject([{ kind: 'split', segment: 's0000000', refused: 'segment-sealed' }]);
  expect((await world.read(topic)).open).toEqual(decided.open);
  expect(world.watch.problems()).toEqual([]);
});

test.each(['throttled', 'failed', 'answer-lost', 'unreachable'] as const)(
  'a table that is %s at any call of a look: the next looks make one split of it',
  async (kind) => {
    let calls = Infinity;
    for (let n = 0; n < calls; n += 1) {
      const world = createFloodWorld(n + 1);
      const [a] = [await world.live('a'), await world.live('b')];
      const topic = await world.flooded();
      let left = Infinity;
      let made = 0;
      const choose = (): TableFault | undefined => {
        made += 1;
        left -= 1;
        return left === 0 ? { kind } : undefined;
      };
      const table = createFaultyTable(world.table, { choose, clock: world.clock });
      const leader = world.leader(a, { table });
      const look = () => leader.duties.rebalance({ dryRun: false }, world.signal);
      await world.run(look());
      await world.flow(topic, even(1_500), { seconds: 15 });
      [left, made] = [n + 1, 0];
      await world.run(look().catch(() => undefined));
      // One more than there are: no fault at all.
      if (n + 1 > made) calls = n;
      left = Infinity;
      for (let again = 0; again < 3; again += 1) {
        await world.flow(topic, even(1_500), { seconds: 3 });
        await world.run(look());
      }
      const { open, changes } = await world.read(topic);
      expect({ n, changes, open: open.length, tiles: tiles(open), problems: world.watch.problems() }).toEqual({
        n,
        changes: [],
        open: 2,
        tiles: true,
        problems: [],
      });
    }
    expect(calls).toBeGreaterThan(15);
  },
);

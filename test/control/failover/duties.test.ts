import { describe, expect, test } from 'vitest';
import { brokerKey } from '../../../src/format/item-key.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import {
  BROKER_PROBE_MS,
  BROKER_PROBE_MS_MAX,
  BROKERS_READ_MS,
  FLEET_PROBES_MAX,
  LEADER_HEARTBEAT_MS,
  LEASE_MS,
} from '../../../src/model/limits.ts';
import { TENANT_DEFAULT, type Topic } from '../../../src/model/topic.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { problemsOf, readLineage, unlisted } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type Leading, type TestLeader } from './world.ts';

// The leader's loop on a virtual clock: `a` leads, `b` and `c` are there, and all segments are served by `b`.

const DEATH_MS_MAX = LEASE_MS + BROKER_PROBE_MS_MAX + 2 * BROKER_PROBE_MS;
/** Looks of the test at the clock, and moves, which take no time here. */
const SLACK_MS = 200;

type Scene = {
  readonly world: FailoverWorld;
  readonly topic: Topic;
  readonly leader: TestLeader;
  readonly leading: Leading;
  readonly a: BrokerId;
  readonly b: BrokerId;
  readonly c: BrokerId;
};

async function scene(options: { readonly segments?: number; readonly predecessor?: string; readonly kind?: 'fleet' } = {}): Promise<Scene> {
  const { segments = 3, predecessor, kind = 'process' } = options;
  const world = createFailoverWorld();
  const topic = await world.topic(segments);
  const [a, b, c] = [await world.live('a'), await world.live('b', { kind }), await world.live('c')];
  for (const { segment } of topic.open) await world.assign(topic, segment, [b]);
  const leader = world.leader(a);
  const leading = leader.lead(predecessor === undefined ? {} : { predecessor: predecessor as BrokerId });
  return { world, topic, leader, leading, a, b, c };
}

async function isMoved({ world, topic, b }: Scene): Promise<boolean> {
  const { heads } = await readLineage(world.table, topic.id);
  return [...heads.values()].every((head) => head.state === 'sealed' || !head.brokers.includes(b));
}

async function expectMoved(at: Scene): Promise<void> {
  const { world, topic, a, b, c, leading } = at;
  await world.until(async () => (await world.record(b)) === undefined);
  const lineage = await readLineage(world.table, topic.id);
  expect(problemsOf(lineage)).toEqual([]);
  expect(await unlisted(world.table, [lineage], { brokers: [a, b, c], exact: true })).toEqual([]);
  expect(lineage.topic.open).toHaveLength(topic.open.length);
  for (const { segment } of lineage.topic.open) expect(lineage.heads.get(segment)?.brokers.toSorted()).toEqual([a, c]);
  await leading.stop();
}

describe('a broker dies', () => {
  test('killed: nothing of it for a lease, and its segments are with others; its item goes last', async () => {
    const at = await scene();
    await at.world.clock.advance(10_000);
    at.world.kill(at.b);
    const tookMs = await at.world.until(() => isMoved(at));
    expect(tookMs).toBeLessThanOrEqual(LEASE_MS + 2 * BROKER_PROBE_MS + SLACK_MS);
    await expectMoved(at);
    expect(at.leader.telemetry.total('kelp.brokers.dead')).toBe(1);
    expect(at.leader.telemetry.total('kelp.segments.moved')).toBe(3);
    expect(at.leader.telemetry.counts.find(({ name }) => name === 'kelp.segments.moved')?.attributes).toEqual({ kind: 'failover' });
    expect(at.leader.telemetry.total('kelp.moves.failed')).toBe(0);
  });

  test('killed, and back under its id within the lease: it keeps its segments', async () => {
    const at = await scene();
    await at.world.clock.advance(10_000);
    at.world.freeze(at.b);
    at.world.peers.set(at.b, 'refuses');
    await at.world.clock.advance(LEASE_MS - 200);
    at.world.thaw(at.b);
    // It registers first of all.
    const again = { condition: [], changes: [{ op: 'add', path: ['version'], value: 1 }] } as const;
    await at.world.table.update(brokerKey(TENANT_DEFAULT, at.b), again, at.world.signal);
    await at.world.clock.advance(30_000);
    expect((await at.world.read(at.topic)).open).toEqual(at.topic.open);
    expect(at.leader.telemetry.total('kelp.brokers.dead')).toBe(0);
    await at.leading.stop();
  });

  test.each([0, 400, 1_100, 1_700, 2_300, 2_900])('stopped %i ms into a round: within a lease and three probes', async (phaseMs) => {
    const at = await scene();
    await at.world.clock.advance(9_000 + phaseMs);
    at.world.freeze(at.b);
    const tookMs = await at.world.until(() => isMoved(at));
    expect(tookMs).toBeLessThanOrEqual(DEATH_MS_MAX + SLACK_MS);
    await expectMoved(at);
  });

  test('that answers and writes nothing: after two leases', async () => {
    const at = await scene();
    await at.world.clock.advance(9_000);
    at.world.freeze(at.b);
    at.world.peers.set(at.b, 'answers');
    const tookMs = await at.world.until(() => isMoved(at));
    expect(tookMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(tookMs).toBeLessThanOrEqual(2 * LEASE_MS + 2 * BROKERS_READ_MS);
    await expectMoved(at);
  });

  test('that led, and let its lease time out: the first failed probe is enough', async () => {
    const world = createFailoverWorld();
    const topic = await world.topic(1);
    const [a, b, c] = [await world.live('a'), await world.live('b'), await world.live('c')];
    for (const { segment } of topic.open) await world.assign(topic, segment, [b]);
    world.freeze(b);
    const leader = world.leader(a);
    const at: Scene = { world, topic, leader, leading: leader.lead({ predecessor: b }), a, b, c };
    expect(await world.until(() => isMoved(at))).toBeLessThanOrEqual(BROKER_PROBE_MS_MAX + SLACK_MS);
    await expectMoved(at);
  });

  test('that led and lives is left alone', async () => {
    const at = await scene({ predecessor: 'b' });
    await at.world.clock.advance(30_000);
    expect(await isMoved(at)).toBe(false);
    expect(at.leader.telemetry.total('kelp.brokers.dead')).toBe(0);
    await at.leading.stop();
  });

  test('a fleet: by failed probes in a row, and never by what it doesn’t write', async () => {
    const at = await scene({ kind: 'fleet' });
    await at.world.clock.advance(60_000);
    expect(await isMoved(at)).toBe(false);
    const asked = at.world.peers.of('probe').filter((sent) => sent.broker === at.b).length;
    expect(asked).toBeLessThanOrEqual(60_000 / BROKERS_READ_MS + 1);
    at.world.kill(at.b);
    const tookMs = await at.world.until(() => isMoved(at));
    expect(tookMs).toBeLessThanOrEqual(BROKERS_READ_MS + FLEET_PROBES_MAX * BROKER_PROBE_MS + SLACK_MS);
    await expectMoved(at);
  });

  test('one failed probe of a broker that heartbeats changes nothing', async () => {
    const at = await scene();
    await at.world.clock.advance(10_000);
    for (let n = 0; n < 20; n += 1) {
      at.world.peers.set(at.b, 'hangs');
      await at.world.clock.advance(BROKER_PROBE_MS);
      at.world.peers.set(at.b, 'answers');
      await at.world.clock.advance(BROKER_PROBE_MS);
    }
    expect(await isMoved(at)).toBe(false);
    expect(at.leader.telemetry.total('kelp.brokers.dead')).toBe(0);
    await at.leading.stop();
  });

  test('that comes back in the middle of it keeps the rest, and its item', async () => {
    const at = await scene({ segments: 200 });
    await at.leading.stop();
    const { world, b } = at;
    const slow = interceptTable(world.table, async (call, make, signal) => {
      if (call.name === 'put topic') await world.clock.sleep(500, signal);
      return make();
    });
    const leader = world.leader(at.a, { table: slow });
    const leading = leader.lead();
    await world.clock.advance(10_000);
    world.freeze(b);
    await world.until(() => leader.telemetry.total('kelp.segments.moved') > 0);
    world.thaw(b);
    await world.clock.advance(60_000);
    const lineage = await readLineage(world.table, at.topic.id);
    expect(problemsOf(lineage)).toEqual([]);
    const kept = [...lineage.heads.values()].filter((head) => head.state === 'open' && head.brokers.includes(b));
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(200);
    expect(leader.telemetry.total('kelp.moves.failed')).toBe(0);
    expect(await unlisted(world.table, [lineage], { brokers: [at.a, b, at.c], exact: true })).toEqual([]);
    expect(await world.record(b)).toBeDefined();
    expect(leader.telemetry.logs.map(({ message }) => message)).toContain('a broker that was taken for dead lives');
    await leading.stop();
  });

  test('its item stays where its version has moved since it was judged', async () => {
    const at = await scene({ segments: 1 });
    const { world, b } = at;
    await at.leading.stop();
    const late = interceptTable(world.table, async (call, make) => {
      // Between the last look and the deletion it wakes up, and writes.
      if (call.op === 'delete' && call.key.pk === 'b#main') {
        await world.table.update(call.key, { condition: [], changes: [{ op: 'add', path: ['version'], value: 1 }] }, world.signal);
        world.thaw(b);
      }
      return make();
    });
    const leader = world.leader(at.a, { table: late });
    const leading = leader.lead();
    await world.clock.advance(5_000);
    world.freeze(b);
    await world.until(() => isMoved(at));
    await world.clock.advance(30_000);
    expect(await world.record(b)).toBeDefined();
    expect(leader.duties.isDead(b)).toBe(false);
    await leading.stop();
  });
});

describe('nobody is left', () => {
  test('nothing moves, it is said once, and done when somebody comes; meanwhile the segments are open', async () => {
    const world = createFailoverWorld();
    const topic = await world.topic(2);
    const [a, b] = [await world.live('a', { drainPerSecond: 1 }), await world.live('b')];
    for (const { segment } of topic.open) await world.assign(topic, segment, [b]);
    const leader = world.leader(a);
    const leading = leader.lead();
    world.kill(b);
    await world.clock.advance(60_000);
    expect((await world.read(topic)).open).toEqual(topic.open);
    const said = leader.telemetry.logs.filter(({ message }) => message.startsWith('nobody is there'));
    expect(said.map(({ fields }) => fields['broker'])).toEqual(expect.arrayContaining([b]));
    expect(said.filter(({ fields }) => fields['broker'] === b)).toHaveLength(1);
    const c = await world.live('c');
    await world.until(async () => (await world.record(b)) === undefined);
    const lineage = await readLineage(world.table, topic.id);
    expect(problemsOf(lineage)).toEqual([]);
    for (const { segment } of lineage.topic.open) expect(lineage.heads.get(segment)?.brokers).toEqual([c]);
    await leading.stop();
  });
});

describe('a term', () => {
  test('ends with its signal: nothing is read, asked or written afterwards', async () => {
    const at = await scene();
    await at.world.clock.advance(5_000);
    await at.leading.stop();
    const asked = at.world.peers.sent.length;
    at.world.kill(at.b);
    await at.world.clock.advance(60_000);
    expect(at.world.peers.sent).toHaveLength(asked);
    expect(await isMoved(at)).toBe(false);
  });

  test('that ends in the middle begins no further batch; the next one does the rest', async () => {
    const at = await scene({ segments: 300 });
    await at.world.clock.advance(5_000);
    at.world.kill(at.b);
    let batches = 0;
    const end = new AbortController();
    const first = at.world.leader(at.c, {
      table: interceptTable(at.world.table, async (call, make) => {
        // The second intent is the last thing that is answered within the term.
        const answer = await make();
        if (call.name === 'put topic' && call.op === 'put' && (call.item['changes'] as unknown[]).length > 0) batches += 1;
        if (batches === 2) end.abort(new Error('its term is over'));
        return answer;
      }),
    });
    await at.leading.stop();
    const over = first.duties.lead({ epoch: 2, signal: end.signal });
    await at.world.until(() => end.signal.aborted);
    await at.world.run(over);
    expect(batches).toBe(2);
    const again = at.leader.lead();
    await expectMoved({ ...at, leading: again });
  });

  test('alone costs few reads; with others, one each BROKERS_READ_MS', async () => {
    const world = createFailoverWorld();
    const a = await world.live('a');
    let reads = 0;
    const table = interceptTable(world.table, (call, make) => ((reads += call.op === 'query' ? 1 : 0), make()));
    const leading = world.leader(a, { table }).lead();
    await world.clock.advance(60_000);
    expect(reads).toBeLessThanOrEqual(60_000 / LEADER_HEARTBEAT_MS + 1);
    expect(world.peers.sent).toEqual([]);
    await world.live('b');
    await world.clock.advance(LEADER_HEARTBEAT_MS);
    reads = 0;
    await world.clock.advance(60_000);
    expect(reads).toBeGreaterThanOrEqual(60_000 / BROKERS_READ_MS - 1);
    expect(reads).toBeLessThanOrEqual(60_000 / BROKERS_READ_MS + 1);
    await leading.stop();
  });
});

import { describe, expect, test } from 'vitest';
import { LOAD_KNOWN_MS_MAX } from '../../../src/model/scaling-limits.ts';
import type { TopicPlan } from '../../../src/model/scaling.ts';
import { segmentId, type TopicId } from '../../../src/model/ids.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { intend } from '../../../src/topology/apply-change.ts';
import { readScaling } from '../../../src/topology/scale-history.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { readLineage } from '../failover/check-topology.ts';
import type { LeaderOptions, TestLeader } from '../failover/world.ts';
import { brokerId } from '../some-broker.ts';
import { at as partitionAt, createFloodWorld, even, type FloodWorld } from './flood-world.ts';

// Looks that somebody asks for, of a leader that takes none by itself.

type Scene = { readonly world: FloodWorld; readonly leader: TestLeader };

async function scene(options: (world: FloodWorld) => Partial<LeaderOptions> = () => ({})): Promise<Scene> {
  const world = createFloodWorld();
  const [a] = [await world.live('a'), await world.live('b')];
  const leader = world.leader(a, options(world));
  leader.lead();
  await world.clock.advance(1_000);
  return { world, leader };
}

const rebalance = (
  { world, leader }: Scene,
  asked: { readonly topic?: TopicId; readonly dryRun?: boolean } = {},
): Promise<readonly TopicPlan[]> => world.run(leader.duties.rebalance({ dryRun: false, ...asked }, world.signal));

/** Looked at once, so that the next look knows what came since. */
async function flood(at: Scene, topic: Topic, perSecond: number): Promise<void> {
  await rebalance(at, { topic: topic.id });
  await at.world.flow(topic, even(perSecond), { seconds: 15 });
}

const open = async ({ world }: Scene, topic: Topic): Promise<string[]> => (await world.open(topic)).map(({ segment }) => segment);

describe('one topic', () => {
  test('is looked at, and its plan is made; why is in its history', async () => {
    const at = await scene();
    const topic = await at.world.flooded({}, { segments: 2 });
    await flood(at, topic, 3_000);
    const [plan, ...others] = await rebalance(at, { topic: topic.id });
    expect(others).toEqual([]);
    expect(plan).toMatchObject({ topic: topic.id, name: 't', segments: 2, hotKeys: [], held: [] });
    expect(plan?.changes).toMatchObject([
      { kind: 'split', segment: 's0000000', at: 16_384, reason: { why: 'over-target' }, children: ['s0000002', 's0000003'] },
      { kind: 'split', segment: 's0000001', at: 49_152, reason: { why: 'over-target' }, children: ['s0000004', 's0000005'] },
    ]);
    expect(await open(at, topic)).toEqual(['s0000002', 's0000003', 's0000004', 's0000005']);
    const events = await readScaling(at.leader.deps, topic, at.world.signal);
    expect(events.map((event) => [event.by, event.kind, 'reason' in event && event.reason.why])).toEqual([
      ['planner', 'split', 'over-target'],
      ['planner', 'split', 'over-target'],
    ]);
    const { heads } = await readLineage(at.world.table, topic.id);
    expect(heads.get('s0000002')?.brokers).toHaveLength(2);
  });

  test('a dry run shows the same plan, and changes nothing; what it has seen is known afterwards', async () => {
    const at = await scene();
    const topic = await at.world.flooded();
    // Older than what the average of its life could tell.
    await at.world.clock.advance(LOAD_KNOWN_MS_MAX);
    await rebalance(at, { topic: topic.id, dryRun: true });
    await at.world.flow(topic, even(3_000), { seconds: 15 });
    const [shown] = await rebalance(at, { topic: topic.id, dryRun: true });
    expect(shown?.changes).toMatchObject([{ kind: 'split', segment: 's0000000', at: 32_768 }]);
    expect(shown?.changes.map((change) => 'children' in change || 'refused' in change)).toEqual([false]);
    expect(await at.world.read(topic)).toEqual(topic);
    const [made] = await rebalance(at, { topic: topic.id });
    expect(made?.changes.map(({ kind, reason }) => [kind, reason.why])).toEqual(
      shown?.changes.map(({ kind, reason }) => [kind, reason.why]),
    );
    expect(await open(at, topic)).toHaveLength(2);
  });

  test('that does not exist is said; one that is deleted, too', async () => {
    const at = await scene();
    await expect(rebalance(at, { topic: 't000000000000000' as TopicId })).rejects.toMatchObject({ code: 'topic-not-found' });
    const topic = await at.world.flooded();
    await at.world.run(at.world.broker().topics.delete('t', at.world.signal));
    await expect(rebalance(at, { topic: topic.id })).rejects.toMatchObject({ code: 'topic-not-found' });
  });

  test('what somebody was stopped in is carried on, and then looked at; a dry run leaves it', async () => {
    const at = await scene();
    const topic = await at.world.flooded();
    const children = [{ segment: segmentId(1), lo: 0, hi: 65_535, brokers: [brokerId('b')] }];
    await intend(at.leader.deps, topic, [{ id: 'c-of-another', kind: 'drain', parents: [segmentId(0)], children }], at.world.signal);
    await rebalance(at, { topic: topic.id, dryRun: true });
    expect((await at.world.read(topic)).changes).toHaveLength(1);
    await rebalance(at, { topic: topic.id });
    expect(await at.world.read(topic)).toMatchObject({ changes: [], open: [{ segment: 's0000001' }] });
    expect(at.world.watch.problems()).toEqual([]);
  });
});

describe('all topics', () => {
  test('in order of names, only those of which there is something to say', async () => {
    const at = await scene();
    const { world } = at;
    const topics = new Map<string, Topic>();
    for (const name of ['zebra', 'quiet', 'hot', 'ant']) topics.set(name, await world.flooded({}, { name }));
    expect(await rebalance(at)).toEqual([]);
    for (let second = 0; second < 15; second += 1) {
      await world.flow(topics.get('zebra') as Topic, even(6_000), { seconds: 1 });
      await world.flow(topics.get('ant') as Topic, even(6_000), { seconds: 1 });
      await world.flow(topics.get('hot') as Topic, partitionAt(9, 15_000), { seconds: 1 });
    }
    const plans = await rebalance(at);
    expect(plans.map(({ name }) => name)).toEqual(['ant', 'hot', 'zebra']);
    expect(plans.find(({ name }) => name === 'hot')?.hotKeys).toMatchObject([{ segment: 's0000000', share: 1 }]);
    expect(await open(at, topics.get('quiet') as Topic)).toHaveLength(1);
    expect(await open(at, topics.get('zebra') as Topic)).toHaveLength(2);
  });

  test('what is wrong with one keeps no other one from being looked at', async () => {
    let broken: Topic | undefined;
    const at = await scene((world) => ({
      table: interceptTable(world.table, (call, make) => {
        const isBroken = broken !== undefined && 'key' in call && call.key.pk === `t#${broken.id}`;
        return isBroken ? Promise.reject(new Error('a damaged item')) : make();
      }),
    }));
    const topics = [];
    for (const name of ['a', 'b', 'c']) topics.push(await at.world.flooded({ minSegments: 2 }, { name }));
    [, broken] = topics;
    const plans = await rebalance(at);
    expect(plans.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(plans.every(({ changes }) => changes[0]?.reason.why === 'minimum')).toBe(true);
    expect(at.leader.telemetry.total('kelp.rebalance.failed')).toBe(1);
    expect(at.leader.telemetry.logs.filter(({ level }) => level === 'warn').map(({ fields }) => fields['topic'])).toEqual([broken?.id]);
  });
});

describe('F11: asked twice at once', () => {
  test('of one leader: one split', async () => {
    const at = await scene();
    const topic = await at.world.flooded();
    await flood(at, topic, 3_000);
    const asked = { topic: topic.id, dryRun: false };
    const both = [1, 2, 3].map(() => at.leader.duties.rebalance(asked, at.world.signal));
    const plans = (await at.world.run(Promise.all(both))).flat();
    expect(plans.map(({ changes }) => changes.length)).toEqual([1, 0, 0]);
    expect(await open(at, topic)).toEqual(['s0000001', 's0000002']);
  });

  test('of two leaders that know the same: one split, and the other one is told that it came too late', async () => {
    const at = await scene();
    const { world } = at;
    const topic = await world.flooded();
    const other = { world, leader: world.leader(brokerId('b')) };
    await Promise.all([rebalance(at), rebalance(other)]);
    await flood(at, topic, 3_000);
    const plans = (await Promise.all([rebalance(at), rebalance(other)])).flat();
    const outcomes = plans.flatMap(({ changes }) => changes);
    expect(outcomes.map(({ children, refused }) => children?.join(' ') ?? refused).toSorted()).toEqual([
      's0000001 s0000002',
      'segment-sealed',
    ]);
    expect(await open(at, topic)).toEqual(['s0000001', 's0000002']);
    expect(world.watch.problems()).toEqual([]);
  });
});

describe('F6: a leader that leads no more', () => {
  const notLeader = { kind: 'unavailable', code: 'not-leader' };

  /** A look that is held at its read of a head, until it is told to go on. */
  async function held(lead: (leader: TestLeader) => () => void) {
    const world = createFloodWorld();
    const a = await world.live('a');
    const topic = await world.flooded({ minSegments: 2 });
    let goOn = (): void => undefined;
    const awake = new Promise<void>((resolve) => (goOn = resolve));
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name === 'get head') await awake;
      return make();
    });
    const leader = world.leader(a, { table });
    const end = lead(leader);
    await world.clock.advance(1_000);
    const looked = leader.duties.rebalance({ dryRun: false }, world.signal);
    await world.clock.advance(1_000);
    end();
    goOn();
    return { world, topic, looked };
  }

  test('its term ends in the middle of a look: nothing is changed', async () => {
    const { world, topic, looked } = await held((leader) => {
      const leading = leader.lead();
      return () => void leading.stop();
    });
    await expect(world.run(looked)).rejects.toMatchObject(notLeader);
    expect(await world.read(topic)).toEqual(topic);
  });

  test.each(['in the background', 'for a call'])('it slept, %s, and no timer has told it yet: it looks at the clock', async (how) => {
    let isOver = false;
    const never = new AbortController().signal;
    const term = {
      epoch: 1,
      get signal() {
        return isOver ? AbortSignal.abort(new Error('its term is over')) : never;
      },
    };
    const { world, topic, looked } = await held((leader) => {
      if (how === 'for a call') void leader.duties.leadOnce(term, () => new Promise<never>(() => undefined));
      else void leader.duties.lead(term);
      return () => (isOver = true);
    });
    await expect(world.run(looked)).rejects.toMatchObject(notLeader);
    expect(await world.read(topic)).toEqual(topic);
  });
});

test('a caller who leaves ends its own look, and nobody else’s', async () => {
  const at = await scene();
  const topic = await at.world.flooded({ minSegments: 2 });
  const gone = new AbortController();
  const left = at.leader.duties.rebalance({ topic: topic.id, dryRun: false }, gone.signal);
  const stays = at.leader.duties.rebalance({ topic: topic.id, dryRun: false }, at.world.signal);
  gone.abort(new Error('gone'));
  await expect(at.world.run(left)).rejects.toThrow('gone');
  expect((await at.world.run(stays)).map(({ changes }) => changes.length)).toEqual([1]);
  expect(await open(at, topic)).toHaveLength(2);
});

describe('loads', () => {
  test('of segments that were read twice, in times their target; of others nothing', async () => {
    const at = await scene();
    const topic = await at.world.flooded({}, { segments: 2 });
    const loads = () => at.world.run(at.leader.duties.loads(topic.id, at.world.signal));
    expect(await loads()).toEqual({ segments: [], hotKeys: [] });
    await at.world.flow(topic, even(1_600), { seconds: 10 });
    await rebalance(at);
    const { segments } = await loads();
    expect(
      segments.map(({ segment, messages, commits, load }) => [segment, Math.round(messages), Math.round(commits), Math.round(load * 10)]),
    ).toEqual([
      ['s0000000', 800, 5, 8],
      ['s0000001', 800, 5, 8],
    ]);
    // Nobody has looked for long.
    await at.world.clock.advance(600_000);
    expect(await loads()).toEqual({ segments: [], hotKeys: [] });
  });
});

import { describe, expect, test } from 'vitest';
import { createHeads } from '../../src/state/heads.ts';
import { headKey, leaseKey } from '../../src/format/item-key.ts';
import { segmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { assignUpdate } from '../../src/protocol/segment-life.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import { replaceSegment, replaceSegments } from '../simulation/replace-segment.ts';
import { type ControlWorld, createControlWorld, type Site } from './control-world.ts';
import { brokerId, putBroker, someBroker } from './some-broker.ts';

const [FIRST, SECOND] = [segmentId(0), segmentId(1)];

/** Registered brokers that nobody runs, and one that is asked, on a topic of two segments. */
async function worldOf(...brokers: readonly string[]): Promise<{ world: ControlWorld; topic: Topic; asked: Site }> {
  const world = createControlWorld();
  for (const id of brokers) await putBroker(world.table, someBroker(id));
  return { world, topic: await world.topic(2), asked: world.site('asked', { nameless: true }) };
}

async function serve(world: ControlWorld, topic: Topic, number: number, ...brokers: readonly string[]): Promise<void> {
  await world.table.update(headKey(topic.id, segmentId(number)), assignUpdate(brokers.map(brokerId)), world.signal);
}

const ask = (world: ControlWorld, site: Site, topic: Topic, segment = FIRST, suspect?: string) =>
  world.run(site.control.assignment(topic, segment, suspect === undefined ? {} : { suspect: brokerId(suspect) }, world.signal));
const at = (id: string) => ({ id, url: `http://${id}:80` });

describe('a saved assignment', () => {
  test('is answered by anyone, with no leader at all, and asks nobody', async () => {
    const { world, topic, asked } = await worldOf('a', 'b', 'c');
    await serve(world, topic, 0, 'c', 'a');
    const nobody = world.site('x', { alone: true, nameless: true });
    for (const site of [asked, nobody]) {
      expect(await ask(world, site, topic)).toEqual({ segment: FIRST, brokers: [at('c'), at('a')], successors: [] });
    }
    expect(world.asked).toEqual([]);
    expect(await world.table.get(leaseKey(), world.signal)).toBeUndefined();
  });

  test('names those that are still registered', async () => {
    const { world, topic, asked } = await worldOf('a');
    await serve(world, topic, 0, 'gone', 'a');
    expect(await ask(world, asked, topic)).toEqual({ segment: FIRST, brokers: [at('a')], successors: [] });
  });

  test('is not changed by the report of one that does not serve the segment, is nobody, or is asked itself', async () => {
    const { world, topic, asked } = await worldOf('a', 'b', 'c');
    await serve(world, topic, 0, 'a', 'b');
    const own = world.site('a');
    const expected = { segment: FIRST, brokers: [at('a'), at('b')], successors: [] };
    expect(await ask(world, asked, topic, FIRST, 'c')).toEqual(expected);
    expect(await ask(world, asked, topic, FIRST, 'nobody')).toEqual(expected);
    expect(await ask(world, own, topic, FIRST, 'a')).toEqual(expected);
    expect(world.asked).toEqual([]);
  });
});

describe('what nobody serves', () => {
  test('can’t be assigned by one that is nobody and knows nobody, who says so at once', async () => {
    const { world, topic } = await worldOf('a');
    const alone = world.site('x', { alone: true, nameless: true });
    const beganMs = world.clock.monotonicMs();
    await expect(ask(world, alone, topic)).rejects.toMatchObject({ kind: 'unavailable', code: 'no-leader' });
    expect(world.clock.monotonicMs()).toBe(beganMs);
    expect(await world.run(alone.control.leader(world.signal))).toBeUndefined();
    expect((await world.run(alone.control.brokers(world.signal))).map(({ id, segments }) => [id, segments])).toEqual([['a', 0]]);
    await expect(world.run(alone.control.drain(brokerId('a'), { perSecond: 1 }, world.signal))).rejects.toMatchObject({
      code: 'no-leader',
    });
  });

  test('waits for a leader, as long as its caller does', async () => {
    const { world, topic, asked } = await worldOf('a');
    const ends = new AbortController();
    const work = asked.control.assignment(topic, FIRST, {}, ends.signal);
    const reason = work.catch((error: unknown) => error);
    await world.clock.advance(1_000);
    ends.abort(new Error('gone'));
    expect(await reason).toEqual(new Error('gone'));
  });
});

describe('a sealed segment', () => {
  test('is answered with who goes on, through all that were sealed since', async () => {
    const { world, topic, asked } = await worldOf('a', 'b');
    await serve(world, topic, 0, 'a');
    const split = await replaceSegment(world, topic, { segment: FIRST, children: 2 });
    await serve(world, topic, 2, 'b', 'a');
    const again = await replaceSegment(world, split, { segment: segmentId(3), children: 1 });
    await serve(world, topic, 4, 'b');
    expect(await ask(world, asked, again)).toEqual({
      segment: FIRST,
      brokers: [],
      successors: [
        { segment: segmentId(2), lo: 0, hi: 16_383, addresses: [at('b'), at('a')] },
        { segment: segmentId(4), lo: 16_384, hi: 32_767, addresses: [at('b')] },
      ],
    });
  });

  test('of a merge is answered with the one successor of both; nobody serves that yet', async () => {
    const { world, topic, asked } = await worldOf('a');
    const merged = await replaceSegments(world, topic, { parents: [FIRST, SECOND], children: 1 });
    const successors = [{ segment: segmentId(2), lo: 0, hi: 65_535, addresses: [] }];
    expect(await ask(world, asked, merged, FIRST)).toEqual({ segment: FIRST, brokers: [], successors });
    expect(await ask(world, asked, merged, SECOND)).toEqual({ segment: SECOND, brokers: [], successors });
    const split = await replaceSegment(world, merged, { segment: segmentId(2), children: 2 });
    const back = await replaceSegments(world, split, { parents: [segmentId(3), segmentId(4)], children: 1 });
    expect((await ask(world, asked, back, FIRST)).successors.map((range) => range.segment)).toEqual([segmentId(5)]);
  });

  test('names the brokers of a successor that is pending still, as they were chosen with the change', async () => {
    const { world, topic, asked } = await worldOf('a', 'b');
    await serve(world, topic, 0, 'a');
    const deps = { table: world.table, heads: createHeads(world.table), clock: world.clock, random: world.random };
    const child = { segment: segmentId(topic.nextSegment), lo: 0, hi: 32_767, brokers: [brokerId('b')] };
    const change = { id: 'c', kind: 'failover', parents: [FIRST], children: [child] } as const;
    const intended = await intend(deps, topic, [change], world.signal);
    if (intended === undefined) throw new Error('the topic was changed');
    // Whoever applies it is killed at the child's opening.
    const stops = {
      ...world.table,
      update: (...call: Parameters<typeof world.table.update>) => {
        const opens = call[1].changes.some((one) => one.op === 'set' && one.value === 'open');
        return opens ? new Promise<never>(() => undefined) : world.table.update(...call);
      },
    };
    void applyChanges({ ...deps, table: stops }, intended, [change], world.signal);
    await world.clock.advance(0);
    expect((await deps.heads.read(topic.id, child.segment, world.signal))?.state).toBe('pending');
    const successors = [{ segment: child.segment, lo: 0, hi: 32_767, addresses: [at('b')] }];
    expect(await ask(world, asked, topic)).toEqual({ segment: FIRST, brokers: [], successors });
    expect(await ask(world, asked, topic, child.segment)).toEqual({ segment: child.segment, brokers: [at('b')], successors: [] });
  });
});

describe('what is not there', () => {
  test('is said as it is: never was, of a former life, deleted', async () => {
    const { world, topic, asked } = await worldOf('a');
    await expect(ask(world, asked, topic, segmentId(77))).rejects.toMatchObject({ kind: 'not-found', code: 'segment-not-found' });
    const { topics } = world.broker();
    await world.run(topics.delete('t', world.signal));
    await expect(ask(world, asked, topic)).rejects.toMatchObject({ code: 'topic-not-found' });
    const { topic: anew } = await world.run(topics.create('t', topic.settings, world.signal));
    await expect(ask(world, asked, anew)).rejects.toMatchObject({ kind: 'not-found', code: 'topic-replaced' });
  });
});

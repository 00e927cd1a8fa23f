import { describe, expect, test } from 'vitest';
import { segmentId } from '../../src/model/ids.ts';
import { KelpError } from '../../src/model/errors.ts';
import { CARRY_ON_AFTER_MS } from '../../src/model/crowd-limits.ts';
import { TOPIC_KNOWN_MS_MAX } from '../../src/model/limits.ts';
import { intend } from '../../src/topology/apply-change.ts';
import { publishOf } from '../publish/requests.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { faultyTable } from '../simulation/world-faults.ts';

describe('a resolved name', () => {
  test('is believed for a while, then read again; fresh is always read', async () => {
    const world = createTestWorld();
    await world.topic();
    const table = faultyTable(world.table, {});
    const { topics } = world.broker({ table });
    const resolve = (fresh: boolean) => world.run(topics.resolve('t', { fresh }, world.signal));
    const reads = () => table.calls.get('get name') ?? 0;
    await resolve(false);
    await resolve(false);
    expect(reads()).toBe(1);
    await resolve(true);
    expect(reads()).toBe(2);
    await world.clock.advance(TOPIC_KNOWN_MS_MAX);
    await resolve(false);
    expect(reads()).toBe(3);
  });

  test('F9: is not believed longer because the wall clock jumps', async () => {
    const world = createTestWorld();
    await world.topic();
    const skew = { ms: 0 };
    const table = faultyTable(world.table, {});
    const { topics } = world.broker({ table, clock: world.clock.skewed(skew) });
    await world.run(topics.resolve('t', { fresh: false }, world.signal));
    skew.ms = -3_600_000;
    await world.clock.advance(TOPIC_KNOWN_MS_MAX);
    await world.run(topics.resolve('t', { fresh: false }, world.signal));
    expect(table.calls.get('get name')).toBe(2);
  });

  test('does not wait for its segments to be moved: the old ones do until then', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const child = { segment: segmentId(2), lo: 0, hi: topic.open[0]?.hi ?? 0 };
    const change = { id: 'c1', kind: 'failover', parents: [segmentId(0)], children: [child] } as const;
    const leader = world.broker();
    await world.run(intend(leader.deps, topic, [change], world.signal));
    // Its leader is gone, and the table takes no writes.
    const table = interceptTable(world.table, async (call, make) => {
      if (call.op !== 'get') throw new KelpError('throttled', 'table-throttled', 'no');
      return make();
    });
    const stuck = world.broker({ table });
    const resolved = await world.run(stuck.topics.resolve('t', { fresh: true }, world.signal));
    expect([resolved.open, resolved.changes]).toEqual([topic.open, [change]]);
    // And to be found made already, nobody waits for it, either.
    const made = stuck.topics.create('t', { partitionKey: 'key', segments: 2 }, world.signal);
    expect((await world.run(made)).created).toBe(false);
    const results = await world.run(world.broker().publisher.publish(resolved, publishOf(['1', '2', '3', '4']), world.signal));
    expect(results.filter((result) => result instanceof KelpError)).toEqual([]);
  });

  test('has what was pending for a while carried on once at a time, however many ask: whoever makes the change may well be at it', async () => {
    const world = createTestWorld();
    const topic = await world.topic(1);
    const child = { segment: segmentId(1), lo: 0, hi: 65_535 };
    const change = { id: 'c1', kind: 'failover', parents: [segmentId(0)], children: [child] } as const;
    await world.run(intend(world.broker().deps, topic, [change], world.signal));
    const table = faultyTable(world.table, {});
    const broker = world.broker({ table });
    const resolve = () => world.run(broker.topics.resolve('t', { fresh: true }, world.signal));
    for (let n = 0; n < 5; n += 1) await resolve();
    await world.run(broker.notes.idle());
    expect(table.calls.get('put head')).toBe(undefined);
    await world.clock.advance(CARRY_ON_AFTER_MS);
    for (let n = 0; n < 5; n += 1) await resolve();
    await world.run(broker.notes.idle());
    expect(table.calls.get('put head')).toBe(1);
    const settled = await world.run(broker.topics.resolve('t', { fresh: true }, world.signal));
    expect([settled.open.map(({ segment }) => segment), settled.changes]).toEqual([[child.segment], []]);
  });

  test('that was deleted is forgotten, also if somebody resolved it meanwhile', async () => {
    const world = createTestWorld();
    await world.topic();
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name === 'put topic') await broker.topics.resolve('t', { fresh: false }, world.signal);
      return make();
    });
    const broker = world.broker({ table });
    await world.run(broker.topics.delete('t', world.signal));
    await expect(world.run(broker.topics.resolve('t', { fresh: false }, world.signal))).rejects.toMatchObject({ code: 'topic-not-found' });
  });
});

test('all segments of a topic are described, sealed ones with their successors', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const broker = world.broker();
  await world.run(broker.publisher.publish(topic, publishOf(['1', '2']), world.signal));
  await world.clock.advance(1_000);
  const after = await replaceSegment(world, topic, { segment: segmentId(0), children: 2 });
  const createdMs = topic.createdMs;
  const parent = { lo: 0, hi: 65_535, tail: 2, predecessors: [], successors: ['s0000001', 's0000002'] };
  const child = { state: 'open', start: 0, tail: 0, predecessors: ['s0000000'], successors: [], openedMs: createdMs + 1_000 };
  expect(await world.run(broker.topics.segments(after, world.signal))).toEqual([
    { ...parent, segment: 's0000000', state: 'sealed', start: 0, openedMs: createdMs, endedMs: createdMs + 1_000 },
    { ...child, segment: 's0000001', lo: 0, hi: 32_767 },
    { ...child, segment: 's0000002', lo: 32_768, hi: 65_535 },
  ]);
});

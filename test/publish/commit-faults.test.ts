import { describe, expect, test } from 'vitest';
import { headKey } from '../../src/format/item-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { CommitId } from '../../src/model/ids.ts';
import { COMMIT_GRACE_MS, HEAD_ENTRIES_MAX } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { interceptTable, type TableCall } from '../simulation/intercept.ts';
import { readSegmentLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { conflicted, type Fault, faultyTable, throttled } from '../simulation/world-faults.ts';
import { brief, firstSegment, produced, publishOf } from './requests.ts';

const HOUR_MS = 3_600_000;

const sent = async (world: TestWorld, topic: Topic, request: PublishRequest, by: TestBroker): Promise<string[]> =>
  brief(await world.run(by.publisher.publish(topic, request, world.signal)));

/** The commit ids that were sent, in order. */
function commitIdsOf(calls: readonly TableCall[]): CommitId[] {
  return calls.flatMap((call) => {
    if (call.op !== 'update') return [];
    const copy = call.update.changes.find((change) => change.op === 'copy');
    return copy === undefined ? [] : [copy.path[1] as CommitId];
  });
}

describe('one fault of the commit', () => {
  test.each<readonly [string, readonly Fault[]]>([
    ['F5: applied, answer lost', ['lost']],
    ['F5: again and again', ['lost', 'lost', 'lost']],
    ['lost on the way', ['dropped', 'dropped']],
    ['applied later', ['late', 'late']],
    ['F29: throttled and conflicts', ['throttled', 'conflict', 'throttled', 'conflict']],
    ['all of them', ['late', 'throttled', 'lost', 'conflict', 'unavailable']],
  ])('%s: stored once, acked where it is', async (_, faults) => {
    const world = createTestWorld();
    const topic = await world.topic();
    const calls: TableCall[] = [];
    const faulty = faultyTable(world.table, { 'update head': faults });
    const table = interceptTable(faulty, (call, make) => {
      calls.push(call);
      return make();
    });
    const broker = world.broker({ table });
    const acked = await sent(world, topic, publishOf(['1', '2']), broker);
    expect(acked).toEqual(['s0000000:0', 's0000000:1']);
    expect(new Set(commitIdsOf(calls)).size).toBe(1);
    await faulty.deliver();
    await sent(world, topic, publishOf(['3']), broker);
    expect(await readValues(world, topic.id)).toEqual(['1', '2', '3']);
  });

  test('F27: a lost answer that a spill hides is found in the page', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const other = world.broker();
    // Behind the lost commit, another broker fills the head and spills, before the first one looks.
    let isFirst = true;
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name !== 'update head' || !isFirst) return make();
      isFirst = false;
      await make();
      for (let n = 0; n < 20; n += 1) await other.publisher.publish(topic, publishOf([`other ${n}`]), world.signal);
      await other.notes.idle();
      throw new KelpError('indefinite', 'table-indefinite', 'no answer');
    });
    expect(await sent(world, topic, publishOf(['1']), world.broker({ table }))).toEqual(['s0000000:0']);
    const { head, messages } = await readSegmentLog(world, topic.id, firstSegment(topic));
    expect(head.spilled).toBeGreaterThan(1);
    expect(messages).toHaveLength(21);
  });
});

describe('the end of the budget', () => {
  const failing = async (fault: Fault): Promise<KelpError | undefined> => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = world.broker({ table: faultyTable(world.table, { 'update head': Array.from({ length: 500 }, () => fault) }) });
    const [error] = await world.run(broker.publisher.publish(topic, publishOf(['1']), world.clock.deadline(5_000)));
    expect(await readValues(world, topic.id)).toEqual(fault === 'lost' ? ['1'] : []);
    expect(world.clock.monotonicMs()).toBeLessThanOrEqual(5_000);
    return error instanceof KelpError ? error : undefined;
  };

  test.each(['throttled', 'conflict'] as const)('F29: %s, it is 429 and nothing is stored', async (fault) => {
    const error = await failing(fault);
    expect(error).toMatchObject({ kind: 'throttled', code: 'throttled', retryAfterMs: 1_000, extra: { reason: 'segment' } });
  });

  test('F29: refused until the time was over, and sent again by its caller, it is stored once, under one id each', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const state = { isHot: true, sent: 0 };
    const cids: CommitId[] = [];
    const table = interceptTable(world.table, (call, make) => {
      cids.push(...commitIdsOf([call]));
      if (call.name !== 'update head' || !state.isHot) return make();
      state.sent += 1;
      throw state.sent % 2 === 0 ? throttled() : conflicted();
    });
    const broker = world.broker({ table });
    const line = { segment: firstSegment(topic), sequence: 0 };
    const publish = (bound: AbortSignal) => world.run(broker.publisher.publish(topic, produced(['1'], line), bound));
    expect(brief(await publish(world.clock.deadline(5_000)))).toEqual(['throttled']);
    expect([state.sent > 2, new Set(cids).size]).toEqual([true, 1]);
    state.isHot = false;
    expect(brief(await publish(world.signal))).toEqual(['s0000000:0']);
    expect(new Set(cids).size).toBe(2);
    expect(brief(await publish(world.signal))).toEqual(['s0000000:0 again']);
    expect(await readValues(world, topic.id)).toEqual(['1']);
  });

  test.each([
    ['F29: and is refused in a moment, it is refused, and nothing is stored', 20, 'throttled', []],
    ['and is done in a moment, it is acked', 20, 's0000000:0', ['1']],
    ['and is answered later, nobody knows', COMMIT_GRACE_MS + 1, 'indefinite', []],
  ])('whose last attempt is on its way as the time ends: %s', async (_, answeredMs, outcome, stored) => {
    const world = createTestWorld();
    const topic = await world.topic();
    const table = interceptTable(world.table, async (call, make, signal) => {
      if (call.name !== 'update head') return make();
      // As the port has it: what was sent, and not answered, may be done yet.
      await world.clock.sleep(1_000 + answeredMs, signal).catch((cause: unknown) => {
        throw new KelpError('indefinite', 'table-indefinite', 'no answer', { cause });
      });
      if (outcome === 'throttled') throw throttled();
      return make();
    });
    const publishing = world.broker({ table }).publisher.publish(topic, publishOf(['1']), world.clock.deadline(1_000));
    const beganMs = world.clock.monotonicMs();
    expect(brief(await world.run(publishing))).toEqual([outcome]);
    expect(world.clock.monotonicMs() - beganMs).toBeLessThanOrEqual(1_000 + COMMIT_GRACE_MS);
    expect(await readValues(world, topic.id)).toEqual(stored);
  });

  test('F16: refused connections, it is 503 and nothing is stored', async () => {
    expect(await failing('unavailable')).toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
  });

  test('unanswered, it is unknown', async () => {
    expect(await failing('dropped')).toMatchObject({ kind: 'indefinite' });
  });
});

describe('a refusal', () => {
  test('K1: of what may still land is answered only after its id was killed', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const other = world.broker();
    const faulty = faultyTable(world.table, { 'update head': ['late'] });
    const broker = world.broker({ table: faulty });
    const wish = { ...publishOf(['wish']), segment: firstSegment(topic), matchTail: 1 };
    const first = broker.publisher.publish(topic, wish, world.signal);
    expect(brief(await world.run(first))).toEqual(['tail-mismatch']);
    await sent(world, topic, publishOf(['other']), other);
    await faulty.deliver();
    expect(await readValues(world, topic.id)).toEqual(['other']);
  });

  test('of a full head is no proof: the tail behind the spill may be our own', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const filler = world.broker({ table: faultyTable(world.table, { 'put page': 'unavailable' }) });
    for (let n = 0; n < HEAD_ENTRIES_MAX; n += 1) await sent(world, topic, publishOf([`${n}`]), filler);
    await world.run(filler.notes.idle());
    const wish = { ...publishOf(['wish']), segment: firstSegment(topic), matchTail: HEAD_ENTRIES_MAX + 1 };
    // Its first send is on the way; refused on the full head, it spills; but another broker did, and committed, and then
    // the first send lands.
    const faulty = faultyTable(world.table, { 'update head': ['late'] });
    let spills = 0;
    const table = interceptTable(faulty, async (call, make) => {
      const isSpill = call.op === 'update' && call.update.changes.some((change) => change.path[0] === 'h');
      if (!isSpill || spills > 0) return make();
      spills += 1;
      await world.broker().publisher.publish(topic, publishOf(['between']), world.signal);
      await faulty.deliver();
      return make();
    });
    expect(await sent(world, topic, wish, world.broker({ table }))).toEqual([`s0000000:${HEAD_ENTRIES_MAX + 1}`]);
    expect((await readValues(world, topic.id)).slice(-2)).toEqual(['between', 'wish']);
  });

  test('of a mate that the landed variant left out is by the line, not by who stood before it in the group', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const broker = world.broker({
      // The group's commit finds the segment sealed.
      table: interceptTable(world.table, async (call, make) => {
        const isGroup = call.op === 'update' && call.update.changes.some((change) => change.path[0] === 'p');
        if (isGroup) await replaceSegment({ ...world, run: (work) => work }, topic, { segment, children: 1 });
        return make();
      }),
    });
    const first = broker.publisher.publish(topic, publishOf(['first']), world.signal);
    const twice = [0, 1].map(() => broker.publisher.publish(topic, produced(['p0'], { segment, sequence: 0 }), world.signal));
    const results = await world.run(Promise.all([first, ...twice]));
    expect(results.map(brief)).toEqual([['s0000000:0'], ['segment-sealed'], ['segment-sealed']]);
    expect(await readValues(world, topic.id)).toEqual(['first']);
  });
});

describe('a read that fails on the way to the answer', () => {
  test('does not make a commit that has landed look refused', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    await sent(world, topic, produced(['p0'], { segment, sequence: 0 }), world.broker());
    for (let n = 0; n < 40; n += 1) await sent(world, topic, publishOf([`${n}`]), world.broker());
    const spiller = world.broker();
    await sent(world, topic, publishOf(['spill']), spiller);
    await world.run(spiller.notes.idle());
    // One group: a new message, and a repeat whose offset is in a page that can't be read.
    const broker = world.broker({ table: faultyTable(world.table, { 'query page': 'unavailable' }) });
    const first = broker.publisher.publish(topic, publishOf(['first']), world.signal);
    const plain = broker.publisher.publish(topic, publishOf(['plain']), world.signal);
    const repeat = broker.publisher.publish(topic, produced(['p0'], { segment, sequence: 0 }), world.signal);
    const results = await world.run(Promise.all([first, plain, repeat]));
    const stored = await readValues(world, topic.id);
    expect(stored.filter((value) => value === 'plain')).toHaveLength(1);
    expect(results.slice(1).map(brief)).toEqual([['indefinite'], ['indefinite']]);
  });
});

describe('clocks', () => {
  test('F9, J-29: a broker an hour behind commits behind a spill by one an hour ahead, in two tries', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const ahead = world.broker({ clock: world.clock.skewed({ ms: HOUR_MS }) });
    for (let n = 0; n < 20; n += 1) await sent(world, topic, publishOf([`${n}`]), ahead);
    await world.run(ahead.notes.idle());
    const faulty = faultyTable(world.table, {});
    const behind = world.broker({ table: faulty, clock: world.clock.skewed({ ms: -HOUR_MS }) });
    expect(await sent(world, topic, publishOf(['behind']), behind)).toEqual(['s0000000:20']);
    expect(faulty.calls.get('update head')).toBeLessThanOrEqual(2);
    expect(await sent(world, topic, publishOf(['again']), behind)).toEqual(['s0000000:21']);
  });

  test('F9: a clock that jumps between the tries of a commit changes nothing', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const skew = { ms: 0 };
    const faulty = faultyTable(world.table, { 'update head': ['late', 'throttled', 'dropped'] });
    const table = interceptTable(faulty, (_, make) => {
      skew.ms = skew.ms === HOUR_MS ? -HOUR_MS : HOUR_MS;
      return make();
    });
    const broker = world.broker({ table, clock: world.clock.skewed(skew) });
    for (let n = 0; n < 40; n += 1) expect(await sent(world, topic, publishOf([`${n}`]), broker)).toEqual([`s0000000:${n}`]);
    await faulty.deliver();
    await world.run(broker.notes.idle());
    expect(await readValues(world, topic.id)).toEqual(Array.from({ length: 40 }, (_, n) => `${n}`));
  });
});

test('G1: behind a raised floor the messages are uploaded anew, under a minute that may be committed', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const segment = firstSegment(topic);
  const floor = String(Math.floor(world.clock.nowMs() / 60_000) + 90).padStart(8, '0');
  const raise = { condition: [], changes: [{ op: 'set' as const, path: ['f'], value: floor }] };
  await world.table.update(headKey(topic.id, segment), raise, world.signal);
  const broker = world.broker();
  expect(await sent(world, topic, publishOf(['1']), broker)).toEqual(['s0000000:0']);
  const { entries } = await readSegmentLog(world, topic.id, segment);
  expect(entries[0]?.object.minute).toBe(floor);
  const { objects } = await world.store.list('log/', { limit: 10 }, world.signal);
  expect(objects).toHaveLength(2);
});

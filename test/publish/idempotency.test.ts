import { describe, expect, test } from 'vitest';
import { decodeIdempotency } from '../../src/format/idempotency-item.ts';
import { idempotencyKey, pageKey } from '../../src/format/item-key.ts';
import { dateOf } from '../../src/model/archived-file.ts';
import { segmentId } from '../../src/model/ids.ts';
import { IDEMPOTENCY_MS } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { raiseThrough } from '../../src/state/archives.ts';
import { spillThrough } from '../../src/state/spill.ts';
import { readTopicLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment, replaceSegments } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { faultyTable, throttled } from '../simulation/world-faults.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { brief, firstSegment, keyed, publishOf } from './requests.ts';

type Bench = { readonly world: TestWorld; readonly topic: Topic; readonly broker: TestBroker };

async function bench(segments = 1): Promise<Bench> {
  const world = createTestWorld();
  const topic = await world.topic(segments);
  return { world, topic, broker: world.broker() };
}

const sent = async ({ world, topic, broker }: Bench, request: PublishRequest, by: TestBroker = broker): Promise<string[]> =>
  brief(await world.run(by.publisher.publish(topic, request, world.signal)));

/** The first message's key lies in the upper half of the partitions. */
const MIXED = [
  ['k1', '1'],
  ['k0', '2'],
  ['k3', '3'],
] as const;

describe('a repeat', () => {
  test('has the same results, from any broker, and is stored once', async () => {
    const on = await bench(2);
    const request = keyed(MIXED, 'once');
    expect(await sent(on, request)).toEqual(['s0000001:0', 's0000000:0', 's0000001:1']);
    const again = ['s0000001:0 again', 's0000000:0 again', 's0000001:1 again'];
    expect(await sent(on, request)).toEqual(again);
    expect(await sent(on, request, on.world.broker())).toEqual(again);
    expect(await readValues(on.world, on.topic.id)).toEqual(['2', '1', '3']);
  });

  test('of another request under the same key is refused, and nothing of it is stored', async () => {
    const on = await bench();
    await sent(on, keyed(['1'], 'k'));
    await expect(sent(on, keyed(['2'], 'k'))).rejects.toMatchObject({ code: 'key-reused', kind: 'conflict' });
    expect(await sent(on, keyed(['2'], 'other'))).toEqual(['s0000000:1']);
    expect(await readValues(on.world, on.topic.id)).toEqual(['1', '2']);
  });

  test('at the same time as the first is stored once, however many handlers there are', async () => {
    const on = await bench(2);
    const brokers = [on.broker, on.world.broker(), on.world.broker()];
    const results = await on.world.run(
      Promise.all([...brokers, ...brokers].map(({ publisher }) => publisher.publish(on.topic, keyed(MIXED, 'once'), on.world.signal))),
    );
    for (const result of results)
      expect(brief(result).map((one) => one.replace(' again', ''))).toEqual(['s0000001:0', 's0000000:0', 's0000001:1']);
    expect(await readValues(on.world, on.topic.id)).toEqual(['2', '1', '3']);
  });

  test('after a day is a new request', async () => {
    const on = await bench();
    await sent(on, keyed(['1'], 'k'));
    await on.world.clock.advance(IDEMPOTENCY_MS - 1_000);
    expect(await sent(on, keyed(['1'], 'k'))).toEqual(['s0000000:0 again']);
    await on.world.clock.advance(2_000);
    expect(await sent(on, keyed(['2'], 'k'))).toEqual(['s0000000:1']);
    expect(await sent(on, keyed(['2'], 'k'))).toEqual(['s0000000:1 again']);
  });

  test('with a producer is refused before anything is stored', async () => {
    const on = await bench();
    const both = { ...keyed(['1'], 'k'), segment: segmentId(0), producer: { producer: 'p', epoch: 0, sequence: 0 } };
    await expect(sent(on, both)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readValues(on.world, on.topic.id)).toEqual([]);
  });
});

describe('the record', () => {
  test('of several segments costs one object, as any other request does', async () => {
    const on = await bench(8);
    const values = ['k0', 'k1', 'k2', 'k3', 'k4', 'k6', 'a', 'b', 'c'].map((key) => [key, key] as const);
    await sent(on, keyed(values, 'k'));
    expect((await on.world.store.list('log/', { limit: 100 }, on.world.signal)).objects).toHaveLength(1);
    expect((await readValues(on.world, on.topic.id)).toSorted()).toEqual(values.map(([value]) => value).toSorted());
  });

  test('goes with the topic: a topic made again knows nothing of its keys', async () => {
    const on = await bench();
    await sent(on, keyed(['1'], 'k'));
    await on.world.run(on.broker.topics.delete('t', on.world.signal));
    const topic = await on.world.topic();
    expect(await sent({ ...on, topic }, keyed(['1'], 'k'))).toEqual(['s0000001:0']);
  });

  test('says where everything is, in the end', async () => {
    const on = await bench(2);
    await sent(on, keyed(MIXED, 'k'));
    const item = await on.world.table.get(idempotencyKey(on.topic.id, on.broker.deps.sha256('k')), on.world.signal);
    expect(decodeIdempotency(item ?? {}).parts.map(({ range, offset }) => [range.segment, offset])).toEqual([
      ['s0000001', 0],
      ['s0000000', 0],
    ]);
  });

  test('that could not be written at the end does not make what is stored look refused', async () => {
    const on = await bench();
    const table = faultyTable(on.world.table, { 'put request': ['ok', ...Array.from({ length: 50 }, () => 'throttled' as const)] });
    expect(await sent(on, keyed(['1'], 'k'), on.world.broker({ table }))).toEqual(['s0000000:0']);
    expect(await sent(on, keyed(['1'], 'k'))).toEqual(['s0000000:0 again']);
    expect(await readValues(on.world, on.topic.id)).toEqual(['1']);
  });

  test('that could not be written at the end is not known any more once its index is gone, and is not stored again', async () => {
    const on = await bench();
    const { world, topic, broker } = on;
    const table = faultyTable(world.table, { 'put request': ['ok', ...Array.from({ length: 50 }, () => 'throttled' as const)] });
    expect(await sent(on, keyed(['1'], 'k'), world.broker({ table }))).toEqual(['s0000000:0']);
    const read = await broker.deps.heads.read(topic.id, segmentId(0), world.signal);
    const head = await world.run(spillThrough(broker.deps, read ?? expect.unreachable(), 1, world.signal));
    const file = { rows: 1, misfits: 0, bytes: 1, footerBytes: 1 };
    const record = { first: 0, last: 0, date: dateOf(0), guard: head.guard, highestTimestampMs: 0, bytes: 1, columns: [], atMs: 0 };
    await raiseThrough(world, head, { ...record, state: 'written', file }, world.signal);
    await world.table.delete(pageKey(topic.id, segmentId(0), 0), [], world.signal);
    for (const again of [broker, world.broker()]) expect(await sent(on, keyed(['1'], 'k'), again)).toEqual(['indefinite']);
    expect((await broker.deps.heads.read(topic.id, segmentId(0), world.signal))?.tail).toBe(1);
  });

  test('whose writes are lost, late or doubled keeps its meaning', async () => {
    for (const fault of ['lost', 'late', 'dropped'] as const) {
      const on = await bench();
      const table = faultyTable(on.world.table, { 'put request': [fault, 'ok', fault], 'update head': [fault] });
      expect((await sent(on, keyed(['1'], 'k'), on.world.broker({ table })))[0]).toMatch(/^s0000000:0/);
      await table.deliver();
      expect(await sent(on, keyed(['1'], 'k'))).toEqual(['s0000000:0 again']);
      expect(await readValues(on.world, on.topic.id)).toEqual(['1']);
    }
  });
});

describe('an expected tail under a key', () => {
  const wish = (matchTail: number): PublishRequest => ({ ...keyed(['1'], 'k'), segment: segmentId(0), matchTail });

  test('that was refused stays refused, whatever the tail is by then', async () => {
    const on = await bench();
    expect(await sent(on, wish(1))).toEqual(['tail-mismatch']);
    await sent(on, publishOf(['x']));
    expect(await sent(on, wish(1))).toEqual(['tail-mismatch']);
    expect(await sent(on, wish(1), on.world.broker())).toEqual(['tail-mismatch']);
    expect(await readValues(on.world, on.topic.id)).toEqual(['x']);
  });

  test('K2: that one handler answers as refused is not stored by another one', async () => {
    const on = await bench();
    // The first handler's refusal is held up between the kill and its record, while the second one goes on.
    const held = Promise.withResolvers<void>();
    let puts = 0;
    const table = interceptTable(on.world.table, async (call, make) => {
      if (call.name === 'put request') puts += 1;
      if (call.name === 'put request' && puts === 2) await held.promise;
      return make();
    });
    const first = on.world.broker({ table }).publisher.publish(on.topic, wish(1), on.world.signal);
    await on.world.clock.advance(100);
    const second = sent(on, wish(1));
    expect(await second).toEqual(['tail-mismatch']);
    await sent(on, publishOf(['x']));
    held.resolve();
    expect(brief(await on.world.run(first))).toEqual(['tail-mismatch']);
    expect(await sent(on, wish(1))).toEqual(['tail-mismatch']);
    expect(await readValues(on.world, on.topic.id)).toEqual(['x']);
  });
});

describe('a seal in between', () => {
  test('moves what has not landed to the successors, once', async () => {
    const on = await bench();
    // The first handler records its attempt and is killed before it commits; then the segment is replaced.
    const table = interceptTable(on.world.table, (call, make) => (call.name === 'update head' ? new Promise(() => undefined) : make()));
    void on.world.broker({ table }).publisher.publish(on.topic, keyed(MIXED, 'k'), on.world.signal);
    await on.world.clock.advance(100);
    await replaceSegment(on.world, on.topic, { segment: firstSegment(on.topic), children: 2 });
    expect(await sent(on, keyed(MIXED, 'k'))).toEqual(['s0000002:0', 's0000001:0', 's0000002:1']);
    expect(await sent(on, keyed(MIXED, 'k'))).toEqual(['s0000002:0 again', 's0000001:0 again', 's0000002:1 again']);
    expect((await readTopicLog(on.world, on.topic.id)).map(({ messages }) => messages.length)).toEqual([0, 1, 2]);
  });

  test('of several segments moves what has not landed into the one that they become, each message once', async () => {
    for (const landed of [[], ['s0000000'], ['s0000001']]) {
      const on = await bench(2);
      const table = interceptTable(on.world.table, (call, make) => {
        const isHeld = call.name === 'update head' && call.op === 'update' && !landed.some((segment) => call.key.pk.endsWith(segment));
        return isHeld ? new Promise(() => undefined) : make();
      });
      void on.world.broker({ table }).publisher.publish(on.topic, keyed(MIXED, 'k'), on.world.signal);
      await on.world.clock.advance(100);
      await replaceSegments(on.world, on.topic, { parents: [segmentId(0), segmentId(1)], children: 1 });
      const first = await sent(on, keyed(MIXED, 'k'));
      expect(await sent(on, keyed(MIXED, 'k'))).toEqual(first.map((one) => `${one.replace(' again', '')} again`));
      const logs = await readTopicLog(on.world, on.topic.id);
      const where = new Map(logs.flatMap(({ messages }) => messages.map(({ segment, offset, value }) => [value, `${segment}:${offset}`])));
      expect(first.map((one) => one.replace(' again', ''))).toEqual(MIXED.map(([, value]) => where.get(value)));
      expect(logs.flatMap(({ messages }) => messages)).toHaveLength(3);
    }
  });

  test('after it has landed leaves it where it is', async () => {
    const on = await bench();
    await sent(on, keyed(MIXED, 'k'));
    await replaceSegment(on.world, on.topic, { segment: firstSegment(on.topic), children: 2 });
    expect(await sent(on, keyed(MIXED, 'k'))).toEqual(['s0000000:0 again', 's0000000:1 again', 's0000000:2 again']);
  });

  test('of a segment that was named is answered with its successors', async () => {
    const on = await bench();
    await replaceSegment(on.world, on.topic, { segment: firstSegment(on.topic), children: 1 });
    const request = { ...keyed(['1'], 'k'), segment: segmentId(0), matchTail: 0 };
    expect(await sent(on, request)).toEqual(['segment-sealed']);
  });
});

test('one part that waits in vain does not hide another one that is stored', async () => {
  const on = await bench(2);
  const table = interceptTable(on.world.table, (call, make) => {
    if (call.op === 'update' && call.key.pk.endsWith('s0000000')) throw throttled();
    return make();
  });
  const deadline = on.world.clock.deadline(2_000);
  const first = await on.world.run(on.world.broker({ table }).publisher.publish(on.topic, keyed(MIXED, 'k'), deadline));
  expect(brief(first)).toEqual(['s0000001:0', 'indefinite', 's0000001:1']);
  expect(await sent(on, keyed(MIXED, 'k'))).toEqual(['s0000001:0 again', 's0000000:0', 's0000001:1 again']);
});

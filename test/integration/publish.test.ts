import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSdkTable } from '../../src/adapters/dynamodb/sdk-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { HEAD_ENTRIES_SPILL, HEAD_LINES_MAX } from '../../src/model/limits.ts';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { brief, firstSegment, keyed, produced, publishOf } from '../publish/requests.ts';
import { readSegmentLog, readTopicLog, readValues } from '../simulation/read-log.ts';
import { type ChangeWorld, replaceSegments } from '../simulation/replace-segment.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { tiles } from '../topology/tiles.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';

// The engine, without HTTP, on SeaweedFS and both tables, over both kinds of client.

const TEST_MS = 60_000;
const clock = createSystemClock();
const random = createSeededRandom(randomBytes(8).toString('hex'));

const tables = { lean: createLeanTable, sdk: createSdkTable } as const;
const stores = { lean: createLeanStore, sdk: createSdkStore } as const;
const combinations = (['dynoxide', 'ministack'] as const).flatMap((table) =>
  (['lean', 'sdk'] as const).map((client) => [table, client] as const),
);

/** Producers by these names must be like any other. */
const STRANGE = ['__proto__', 'constructor', 'toString', '.', 'x'.repeat(64)];
/** Keys in both halves of the partitions, the upper one first. */
const MIXED = [
  ['k1', '1'],
  ['k0', '2'],
  ['k3', '3'],
  ['k2', '4'],
] as const;

describe.each(combinations)('on %s over the %s client', (kind, client) => {
  let address: TableAddress;
  let table: MetadataTable;
  let store: ObjectStore;
  let topics = 0;
  const signal = (): AbortSignal => AbortSignal.timeout(TEST_MS);

  beforeAll(async () => {
    address = await freshTable(kind, signal());
    table = tables[client]({ ...address, clock });
    store = stores[client]({ ...sharedStack().store, clock });
  }, TEST_MS);

  const brokerOn = (own: MetadataTable): TestBroker =>
    createTestBroker({ table: own, store, clock, random: random.fork(`${kind} ${client} ${(topics += 1)}`), wrapped: true });
  const broker = (): TestBroker => brokerOn(table);
  const world = (): ChangeWorld => ({ table, clock, random, signal: signal(), run: (work) => work });
  const makeTopic = async (segments = 1): Promise<Topic> =>
    (await broker().topics.create(`t${(topics += 1)}`, { partitionKey: 'key', segments, replicas: 2 }, signal())).topic;
  const sent = async (topic: Topic, request: PublishRequest, by: TestBroker = broker()): Promise<string[]> =>
    brief(await by.publisher.publish(topic, request, signal()));

  test('messages are stored by their keys, and their objects hold them', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic(2);
    expect(await sent(topic, publishOf(MIXED))).toEqual(['s0000001:0', 's0000000:0', 's0000001:1', 's0000000:1']);
    expect(await readValues({ table, store }, topic.id)).toEqual(['2', '4', '1', '3']);
  });

  test('brokers side by side give every offset once, spill, and leave the index whole', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const brokers = [broker(), broker()];
    const values = Array.from({ length: 60 }, (_, n) => String(n));
    const writers = brokers.map(async (own, which) => {
      const placed: [string, string][] = [];
      for (const value of values.filter((_, n) => n % 2 === which))
        placed.push([value, (await sent(topic, publishOf([value]), own))[0] ?? '']);
      return placed;
    });
    const placed = (await Promise.all(writers)).flat();
    await Promise.all(brokers.map(({ notes }) => notes.idle()));
    const { head, messages } = await readSegmentLog({ table, store }, topic.id, firstSegment(topic));
    expect(new Map(placed)).toEqual(new Map(messages.map(({ segment, offset, value }) => [value, `${segment}:${offset}`])));
    expect(messages).toHaveLength(values.length);
    expect(head.spilled).toBeGreaterThan(0);
    expect(head.entries.length).toBeLessThan(2 * HEAD_ENTRIES_SPILL);
  });

  test('J-24: a producer is answered so that it can go on', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const segment = firstSegment(topic);
    const send = (sequence: number, count = 1, epoch = 0): Promise<string[]> =>
      sent(
        topic,
        produced(
          Array.from({ length: count }, (_, n) => `${epoch}/${sequence + n}`),
          { segment, sequence, epoch },
        ),
      );
    expect(await send(0, 3)).toEqual(['s0000000:0', 's0000000:1', 's0000000:2']);
    expect(await send(0, 3)).toEqual(['s0000000:0 again', 's0000000:1 again', 's0000000:2 again']);
    expect(await send(3)).toEqual(['s0000000:3']);
    expect(await send(5)).toEqual(['sequence-gap']);
    expect(await send(2, 3)).toEqual(['sequence-overlap', 'sequence-overlap', 'sequence-overlap']);
    expect(await send(4)).toEqual(['s0000000:4']);
    expect(await send(0, 1, 1)).toEqual(['s0000000:5']);
    expect(await send(7, 1, 0)).toEqual(['producer-fenced']);
    expect(await send(4, 1, 2)).toEqual(['sequence-gap']);
    expect(await readValues({ table, store }, topic.id)).toEqual(['0/0', '0/1', '0/2', '0/3', '0/4', '1/0']);
  });

  test('P2, P3: more producers than a head holds, of any name, count on', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const segment = firstSegment(topic);
    const names = [...STRANGE, ...Array.from({ length: HEAD_LINES_MAX }, (_, n) => `p${n}`)];
    const own = broker();
    for (const sequence of [0, 1]) {
      for (const producer of names) await sent(topic, produced([`${producer} ${sequence}`], { segment, producer, sequence }), own);
    }
    for (const producer of names) {
      expect(await sent(topic, produced([`${producer} 1`], { segment, producer, sequence: 1 }))).toEqual([expect.stringMatching(/again$/)]);
      expect(await sent(topic, produced(['x'], { segment, producer, sequence: 3 }))).toEqual(['sequence-gap']);
    }
    expect((await readValues({ table, store }, topic.id)).toSorted()).toEqual(
      names.flatMap((name) => [`${name} 0`, `${name} 1`]).toSorted(),
    );
  });

  test('members of one group are judged one by one', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const segment = firstSegment(topic);
    const own = broker();
    const requests = [
      { ...publishOf(['first']), segment },
      produced(['gap'], { segment, producer: 'q', sequence: 7 }),
      produced(['0', '1'], { segment, sequence: 0 }),
      produced(['0', '1'], { segment, sequence: 0 }),
      { ...publishOf(['plain']), segment },
    ];
    const [first = [], gap, one = [], other = [], plain = []] = await Promise.all(requests.map((request) => sent(topic, request, own)));
    expect(gap).toEqual(['sequence-gap']);
    // Which of them comes first is nobody's promise: each asks for its place by itself.
    const [line, again] = other[0]?.endsWith(' again') === true ? [one, other] : [other, one];
    expect(again).toEqual(line.map((place) => `${place} again`));
    const offsets = [...first, ...line, ...plain].map((place) => Number(/^s0000000:(\d)$/.exec(place)?.[1]));
    expect(offsets.toSorted()).toEqual([0, 1, 2, 3]);
    expect((offsets[1] ?? 0) + 1).toBe(offsets[2]);
    const values = await readValues({ table, store }, topic.id);
    expect(offsets.map((offset) => values[offset])).toEqual(['first', '0', '1', 'plain']);
  });

  test('an expected tail lets one of many in', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const wish = { ...publishOf(['x']), segment: firstSegment(topic), matchTail: 0 };
    const results = await Promise.all(Array.from({ length: 5 }, () => sent(topic, wish)));
    expect(results.flat().toSorted()).toEqual(['s0000000:0', ...Array.from({ length: 4 }, () => 'tail-mismatch')]);
  });

  test('I1: a request under a key is stored once, by handlers at once and in repeats', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic(2);
    const results = await Promise.all([1, 2, 3].map(() => sent(topic, keyed(MIXED, 'k'))));
    for (const result of [...results, await sent(topic, keyed(MIXED, 'k'))]) {
      expect(result.map((one) => one.replace(' again', ''))).toEqual(['s0000001:0', 's0000000:0', 's0000001:1', 's0000000:1']);
    }
    await expect(sent(topic, keyed(['other'], 'k'))).rejects.toMatchObject({ code: 'key-reused' });
    expect(await readValues({ table, store }, topic.id)).toEqual(['2', '4', '1', '3']);
  });

  test.each<readonly [string, readonly Fault[]]>([
    ['F5 lost', ['lost', 'lost']],
    ['late', ['late', 'late']],
    ['F29 throttled and conflicting', ['throttled', 'conflict', 'late', 'lost']],
  ])('a commit that is %s is stored once', { timeout: TEST_MS }, async (_, faults) => {
    const topic = await makeTopic();
    const faulty = faultyTable(table, { 'update head': faults });
    expect(await sent(topic, publishOf(['1', '2']), brokerOn(faulty))).toEqual(['s0000000:0', 's0000000:1']);
    await faulty.deliver();
    expect(await readValues({ table, store }, topic.id)).toEqual(['1', '2']);
  });

  test('F14: publishes go on through seals, splits and merges, and nothing is lost or twice', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const writer = broker();
    const acked: string[] = [];
    const over = new AbortController();
    const writing = (async () => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const results = await sent(topic, publishOf(MIXED.map(([key]) => [key, `${key} ${n}`] as const)), writer);
        expect(results.every((result) => result.includes(':'))).toBe(true);
        acked.push(...MIXED.map(([key]) => `${key} ${n}`));
      }
    })();
    const parents: readonly (readonly [readonly SegmentId[], number])[] = [
      [[segmentId(0)], 2],
      [[segmentId(1), segmentId(2)], 1],
      [[segmentId(3)], 3],
    ];
    let latest = topic;
    for (const [sealed, children] of parents) latest = await replaceSegments(world(), topic, { parents: sealed, children });
    over.abort();
    await writing;
    expect(tiles(latest.open)).toBe(true);
    const logs = await readTopicLog({ table, store }, topic.id);
    const stored = logs.flatMap(({ messages }) => messages);
    expect(stored.map(({ value }) => value).toSorted()).toEqual(acked.toSorted());
    // Segments in order of their ids are in the order of lineage.
    for (const [key] of MIXED) {
      const numbers = stored.filter((message) => message.key === key).map(({ value }) => Number(value.split(' ')[1]));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
  });

  test('F30: a deleted topic takes nothing, its objects go, and its name begins anew', { timeout: TEST_MS }, async () => {
    const topic = await makeTopic();
    const own = broker();
    for (let n = 0; n < 20; n += 1) await sent(topic, publishOf([String(n)]), own);
    await own.notes.idle();
    await own.topics.delete(topic.name, signal());
    await own.notes.idle();
    expect((await store.list(`log/${topic.id}/`, { limit: 10 }, signal())).objects).toEqual([]);
    await expect(sent(topic, publishOf(['late']))).rejects.toMatchObject({ code: 'topic-not-found' });
    const { topic: made } = await own.topics.create(topic.name, { partitionKey: 'key', segments: 1, replicas: 2 }, signal());
    expect(await sent(made, publishOf(['new']))).toEqual(['s0000001:0']);
    expect(await readValues({ table, store }, made.id)).toEqual(['new']);
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { pagesPartition } from '../../src/format/item-key.ts';
import type { BatchSlice, Consumer } from '../../src/consume/page.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { message } from '../publish/requests.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { createRealBroker, type RealBroker } from './real-broker.ts';

const EVERYTHING = { messagesMax: 10_000, bytesMax: 16_777_216, waitMs: 0 };
const TEST_MS = 60_000;
const soon = (): AbortSignal => AbortSignal.timeout(TEST_MS);
let names = 0;
const freshName = (): string => `reads-${(names += 1)}`;

type Acked = { readonly segment: SegmentId; readonly offset: number; readonly value: string };

/** Publishes in small requests from several sides at once, so that there are groups, many commits, and pages. */
async function fill(broker: RealBroker, topic: Topic, requests: number): Promise<Acked[]> {
  const acked: Acked[] = [];
  async function publisher(from: number): Promise<void> {
    for (let request = from; request < requests; request += 4) {
      const sent = Array.from({ length: 1 + (request % 5) }, (_, n) => ({
        key: `key ${(request * 31 + n) % 97}`,
        value: `${request}/${n}`,
      }));
      const messages = sent.map(({ key, value }) => message(key, value.padEnd(request % 7 === 0 ? 4_000 : 0, '.'), request));
      const placed = await broker.publisher.publish(topic, { content: { kind: 'messages', messages } }, soon());
      placed.forEach((one, index) => {
        if (one instanceof KelpError || one.offset === null) throw new Error('a publish on calm stores fails', { cause: one });
        acked.push({ segment: one.segment, offset: one.offset, value: sent[index]?.value ?? '' });
      });
    }
  }
  await Promise.all([0, 1, 2, 3].map(publisher));
  await broker.settled();
  return acked;
}

async function shown(consumer: Consumer, slices: readonly BatchSlice[]): Promise<Acked[]> {
  const decoded = await Promise.all(slices.map(async (slice) => ({ slice, stored: await consumer.decode(slice) })));
  return decoded.flatMap(({ slice, stored }) =>
    stored.map(({ offset, value }) => ({ segment: slice.segment, offset, value: textOf(value) })),
  );
}

const textOf = (value: Uint8Array | null): string => new TextDecoder().decode(value ?? undefined).replaceAll('.', '');
const timeOf = ({ value }: Acked): number => Number(value.split('/')[0]);
const byPlace = (a: Acked, b: Acked): number => (a.segment === b.segment ? a.offset - b.offset : a.segment < b.segment ? -1 : 1);

describe.each(['dynoxide', 'ministack'] as const)('reads on SeaweedFS and %s', (kind) => {
  let table: TableAddress;
  beforeAll(async () => {
    table = await freshTable(kind, soon());
  });
  const instance = (): RealBroker => createRealBroker({ store: sharedStack().store, table });

  /** Index pages that left the heads: without any, half of a test's ground is not covered. */
  async function pageCount(topic: Topic): Promise<number> {
    const reader = createLeanTable({ ...table, clock: createSystemClock() });
    const pages = topic.open.map(({ segment }) => reader.query({ pk: pagesPartition(topic.id, segment), limit: 100 }, soon()));
    return (await Promise.all(pages)).reduce((sum, { items }) => sum + items.length, 0);
  }

  async function made(segments: number): Promise<{ writer: RealBroker; topic: Topic }> {
    const writer = instance();
    const { topic } = await writer.topics.create(freshName(), { partitionKey: 'key', segments, replicas: 2 }, soon());
    return { writer, topic };
  }

  test(
    'another instance reads exactly what was acknowledged, by segment and by topic cursor, whatever the bounds',
    async () => {
      const { writer, topic } = await made(4);
      const acked = await fill(writer, topic, 300);
      const { consumer } = instance();
      const bySegment: Acked[] = [];
      for (const { segment } of topic.open) {
        for (let offset = 0, tail = 1; offset < tail;) {
          const bounds = { messagesMax: 37, bytesMax: 20_000, waitMs: 0, wholeBatches: offset % 2 === 0 };
          const page = await consumer.readSegment(topic, { segment, from: { offset }, ...bounds }, soon());
          bySegment.push(...(await shown(consumer, page.slices)));
          ({ nextOffset: offset, tail } = page);
        }
      }
      expect(bySegment).toEqual(acked.toSorted(byPlace));
      expect(await pageCount(topic)).toBeGreaterThan(topic.open.length);

      const byTopic: Acked[] = [];
      for (let cursor = 'earliest', pages = 0; ; pages += 1) {
        const reader = pages % 2 === 0 ? consumer : instance().consumer;
        const page = await reader.readTopic(topic, { cursor, messagesMax: 100, bytesMax: 50_000, waitMs: 0 }, soon());
        if (page.slices.length === 0) break;
        byTopic.push(...(await shown(reader, page.slices)));
        ({ cursor } = page);
      }
      expect(byTopic.toSorted(byPlace)).toEqual(acked.toSorted(byPlace));
    },
    TEST_MS,
  );

  test(
    'J-10 by timestamp, in pages and head: the first message of that time, and all behind it',
    async () => {
      const { writer, topic } = await made(1);
      const acked = (await fill(writer, topic, 120)).toSorted(byPlace);
      expect(await pageCount(topic)).toBeGreaterThan(1);
      const { consumer } = instance();
      const segment = topic.open[0]?.segment as SegmentId;
      for (const timestampMs of [0, 1, 17, 60, 118, 119, 120]) {
        const page = await consumer.readSegment(topic, { segment, from: { timestampMs }, ...EVERYTHING }, soon());
        const first = acked.findIndex((one) => timeOf(one) >= timestampMs);
        expect(await shown(consumer, page.slices)).toEqual(first === -1 ? [] : acked.slice(first));
        expect(page.nextOffset).toBe(acked.length);
      }
    },
    TEST_MS,
  );

  test(
    "J-20 a waiting reader gets a publish of its own instance and of another one's soon",
    async () => {
      const { writer, topic } = await made(2);
      const elsewhere = instance();
      const segment = topic.open[0]?.segment as SegmentId;
      const content = { kind: 'messages' as const, messages: [message('b', 'a'), message('a', 'b')] };
      for (const [reader, msMax] of [
        [writer, 1_000],
        [elsewhere, 2_000],
      ] as const) {
        const { tail } = await reader.consumer.readSegment(topic, { segment, from: 'latest', ...EVERYTHING }, soon());
        const waiting = [
          reader.consumer.readSegment(topic, { segment, from: { offset: tail }, ...EVERYTHING, waitMs: 25_000 }, soon()),
          reader.consumer.readTopic(topic, { cursor: 'latest', ...EVERYTHING, waitMs: 25_000 }, soon()),
        ];
        const answered = waiting.map(async (read) => ({ slices: (await read).slices.length, atMs: performance.now() }));
        await new Promise((resolve) => setTimeout(resolve, 700));
        await writer.publisher.publish(topic, { content }, soon());
        const ackedMs = performance.now();
        for (const { slices, atMs } of await Promise.all(answered)) {
          expect(slices).toBeGreaterThan(0);
          expect(atMs - ackedMs).toBeLessThan(msMax);
        }
      }
    },
    TEST_MS,
  );

  test(
    'J-23 a deletion ends waits on all instances; positions of the former life are refused at once',
    async () => {
      const { writer, topic } = await made(1);
      await fill(writer, topic, 10);
      const segment = topic.open[0]?.segment as SegmentId;
      const elsewhere = instance();
      const { cursor } = await elsewhere.consumer.readTopic(topic, { cursor: 'earliest', ...EVERYTHING }, soon());
      const waits = [writer, elsewhere].flatMap(({ consumer }) => [
        consumer.readSegment(topic, { segment, from: 'latest', ...EVERYTHING, waitMs: 25_000 }, soon()),
        consumer.readTopic(topic, { cursor: 'latest', ...EVERYTHING, waitMs: 25_000 }, soon()),
      ]);
      const ended = Promise.allSettled(waits);
      await writer.topics.delete(topic.name, soon());
      for (const wait of await ended) expect(wait).toMatchObject({ status: 'rejected', reason: { code: 'topic-not-found' } });

      const { topic: again } = await writer.topics.create(topic.name, topic.settings, soon());
      const refused = { kind: 'not-found', code: 'topic-replaced' };
      const long = { ...EVERYTHING, waitMs: 25_000 };
      for (const { consumer } of [writer, elsewhere]) {
        await expect(consumer.readSegment(again, { segment, from: { offset: 1 }, ...long }, soon())).rejects.toMatchObject(refused);
        await expect(consumer.readTopic(again, { cursor, ...long }, soon())).rejects.toMatchObject(refused);
        expect((await consumer.readTopic(again, { cursor: 'earliest', ...EVERYTHING }, soon())).slices).toEqual([]);
      }
      await writer.settled();
    },
    TEST_MS,
  );
});

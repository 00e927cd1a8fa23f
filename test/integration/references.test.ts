import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { decodeBatchObjectHeader } from '../../src/format/batch-object.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import { pagesPartition } from '../../src/format/item-key.ts';
import { batchObjectPrefix } from '../../src/format/object-key.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import { partitionOf } from '../../src/model/partition.ts';
import { type Followed, followReferences, REFERENCES, type StretchReference } from '../clients/follow-references.ts';
import { submitBatches } from '../clients/submit-batches.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { createRealBroker, type RealBroker } from './real-broker.ts';
import { callerOf, ROOT_TOKEN, runServe, type Served } from './run-serve.ts';

// Brokers as processes on SeaweedFS; what is read comes from the store itself, by the URLs that they hand out.

const TEST_MS = 120_000;
const soon = (): AbortSignal => AbortSignal.timeout(TEST_MS);
const compression = createCompression({ codec: 'zstd' });
const TOPIC = 'referenced';

async function send({ method, url, headers }: Pick<StretchReference, 'method' | 'url' | 'headers'>) {
  const response = await fetch(url, { method, headers });
  return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
}

const byPlace = (a: Followed, b: Followed): number => (a.segment === b.segment ? a.offset - b.offset : a.segment < b.segment ? -1 : 1);
type Place = { readonly segment: string; readonly offset: number };
type Segment = { readonly segment: string; readonly state: string; readonly lo: number; readonly hi: number };

describe('references on SeaweedFS', () => {
  let writer: Served;
  let reader: Served;
  let addresses: Parameters<typeof createRealBroker>[0];
  let behind: RealBroker;
  let id: TopicId;
  let pages: (segment: string) => Promise<number>;
  const acked: Followed[] = [];

  beforeAll(async () => {
    addresses = { store: sharedStack().store, table: await freshTable('dynoxide', soon()) };
    const environment = { KELP_INTERNAL_SECRET: 'a-secret-between-the-brokers' };
    [writer, reader] = await Promise.all([runServe({ ...addresses, environment }), runServe({ ...addresses, environment })]);
    behind = createRealBroker(addresses);
    const call = callerOf(writer);
    ({ id } = (await (await call('PUT', `/v1/topics/${TOPIC}`, { partitionKey: 'key', segments: 3 })).json()) as { id: TopicId });
    const table = createLeanTable({ ...addresses.table, clock: createSystemClock() });
    pages = async (segment) => (await table.query({ pk: pagesPartition(id, segment as SegmentId), limit: 100 }, soon())).items.length;
    await publish(0, 60);
    await submit(3);
    expect((await call('POST', `/v1/topics/${TOPIC}/segments/s0000001/split`, { at: 30_000 })).status).toBe(200);
    await publish(60, 120);
    await submit(4);
  }, TEST_MS);
  afterAll(() => {
    for (const served of [writer, reader]) served.signal('SIGKILL');
  });

  /** Small requests from several sides, so that there are groups of several segments, many commits, and index pages. */
  async function publish(from: number, to: number): Promise<void> {
    const call = callerOf(writer);
    const publisher = async (first: number): Promise<void> => {
      for (let request = first; request < to; request += 4) {
        const messages = Array.from({ length: 1 + (request % 5) }, (_, n) => ({ key: `key ${request} ${n}`, text: `${request}/${n}` }));
        const answer = await call('POST', `/v1/topics/${TOPIC}/messages`, { messages });
        expect(answer.status).toBe(200);
        const { results } = (await answer.json()) as { results: Place[] };
        results.forEach(({ segment, offset }, index) => acked.push({ segment, offset, value: messages[index]?.text ?? '' }));
      }
    };
    await Promise.all([0, 1, 2, 3].map((side) => publisher(from + side)));
  }

  /** An upload of batches to each open segment. */
  async function submit(batchCount: number): Promise<void> {
    const call = callerOf(writer);
    const { segments } = (await (await call('GET', `/v1/topics/${TOPIC}/segments`)).json()) as { segments: Segment[] };
    for (const { segment, lo, hi } of segments.filter(({ state }) => state === 'open')) {
      const key = keyIn(lo, hi);
      const values = Array.from({ length: batchCount }, (_, index) => [`${segment} uploaded ${index}`, 'x'.repeat(100_000 * (index % 2))]);
      const bytes = Buffer.concat(values.map((each) => rawBatch({ records: each.map((value) => ({ key, value })) })));
      const partition = partitionOf(Buffer.from(key));
      const answer = await submitBatches(call, { topic: TOPIC, segment, bytes, partitions: values.map(() => [partition, partition]) });
      expect([answer.status, await answer.clone().text()]).toEqual([200, expect.any(String)]);
      const { results } = (await answer.json()) as { results: (Place & { count: number })[] };
      expect(results.map(({ count }) => count)).toEqual(values.map(() => 2));
      results.forEach(({ offset }, index) =>
        values[index]?.forEach((value, delta) => acked.push({ segment, offset: offset + delta, value })),
      );
    }
  }

  function keyIn(lo: number, hi: number): string {
    for (let n = 0; ; n += 1) {
      const partition = partitionOf(Buffer.from(`k${n}`));
      if (lo <= partition && partition <= hi) return `k${n}`;
    }
  }

  async function get(path: string, accept: string = REFERENCES.accept): Promise<Response> {
    const response = await fetch(`${reader.url}/v1/topics/${TOPIC}${path}`, { headers: { authorization: `Bearer ${ROOT_TOKEN}`, accept } });
    expect(response.status).toBe(200);
    return response;
  }
  type Page = { readonly references: StretchReference[]; readonly nextOffset: number; readonly tail: number; readonly cursor: string };
  const page = async (path: string): Promise<Page> => (await (await get(path)).json()) as Page;

  test(
    'by the topic cursor: what was acknowledged, through a split, in objects of several segments, in pages of the index and of uploads',
    async () => {
      const objects = await behind.store.list(batchObjectPrefix(id), { limit: 500 }, soon());
      const headers = await Promise.all(objects.objects.map(({ key }) => behind.store.getRange(key, 0, 200, soon())));
      expect(Math.max(...headers.map((bytes) => decodeBatchObjectHeader(bytes).segments.length))).toBeGreaterThan(1);
      expect(await pages('s0000000')).toBeGreaterThan(0);
      const read: Followed[] = [];
      for (let cursor = 'earliest', turn = 0; ; turn += 1) {
        const { references, cursor: next } = await page(`/messages?cursor=${cursor}&limit=${20 + (turn % 3) * 40}`);
        if (references.length === 0) break;
        read.push(...(await followReferences({ send, compression }, references)));
        cursor = next;
      }
      expect(read.toSorted(byPlace)).toEqual(acked.toSorted(byPlace));
      expect(new Set(read.map(({ segment }) => segment)).size).toBe(5);
    },
    TEST_MS,
  );

  test(
    'by the offset, whatever the bounds: the same bytes as record batches',
    async () => {
      for (const segment of ['s0000000', 's0000001', 's0000003']) {
        const read: Followed[] = [];
        const whole: Followed[] = [];
        for (let offset = 0, tail = 1, turn = 0; offset < tail; turn += 1) {
          const path = `/segments/${segment}/messages?offset=${offset}`;
          const next = await page(`${path}&limit=${[1, 7, 1_000_000][turn % 3]}&maxBytes=${[1, 300_000][turn % 2]}`);
          read.push(...(await followReferences({ send, compression }, next.references)));
          ({ nextOffset: offset, tail } = next);
        }
        for (let offset = 0, tail = 1; offset < tail;) {
          const batches = await get(`/segments/${segment}/messages?offset=${offset}`, 'application/vnd.kelp.batch');
          for (const { bytes } of splitBatches(new Uint8Array(await batches.arrayBuffer()))) {
            const base = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0));
            const stored = await decodeBatch(bytes, base, compression);
            whole.push(...stored.map((one) => ({ segment, offset: one.offset, value: Buffer.from(one.value ?? []).toString() })));
          }
          offset = Number(batches.headers.get('kelp-next-offset'));
          tail = Number(batches.headers.get('kelp-tail'));
        }
        expect(read).toEqual(whole);
        expect(read).toEqual(acked.filter((one) => one.segment === segment).toSorted(byPlace));
      }
    },
    TEST_MS,
  );

  test(
    'without the range that was signed, or with another one, the store refuses',
    async () => {
      const { references } = await page('/segments/s0000000/messages?limit=1');
      const [reference] = references;
      if (reference === undefined) throw new Error('no reference');
      expect((await send(reference)).status).toBe(206);
      expect((await send({ ...reference, headers: {} })).status).toBe(403);
      expect((await send({ ...reference, headers: { range: 'bytes=0-1000000' } })).status).toBe(403);
      expect((await send({ ...reference, method: 'PUT' })).status).toBe(403);
      expect((await send({ ...reference, url: reference.url.replace(/(Signature=)../, '$100') })).status).toBe(403);
      const whole = await fetch(reference.url, { headers: reference.headers });
      const shown = ['content-type', 'content-disposition'].map((name) => whole.headers.get(name));
      expect(shown).toEqual(['application/octet-stream', 'attachment']);
      await whole.arrayBuffer();
    },
    TEST_MS,
  );

  test(
    'a damaged header is corrupt, and so is a missing object',
    async () => {
      const { segment, offset } = acked.findLast((one) => one.segment === 's0000000' && one.value.includes('/')) ?? {
        segment: '',
        offset: 0,
      };
      const topic = await behind.topics.resolve(TOPIC, { fresh: true }, soon());
      const wanted = { segment: segment as SegmentId, from: { offset }, messagesMax: 1, bytesMax: 1, waitMs: 0 };
      const { slices } = await behind.consumer.locateSegment(topic, wanted, soon());
      const [place] = slices;
      if (place === undefined) throw new Error('nothing is there');
      const bytes = await behind.store.getRange(place.object, 0, 1_000_000, soon());
      const damaged = Uint8Array.from(bytes, (byte, at) => (at === place.start + 16 ? 1 : byte));
      const fresh = () => createRealBroker(addresses).consumer;
      await behind.store.put(place.object, [damaged], soon());
      const extra = { topic: TOPIC, segment, offset, object: place.object };
      await expect(fresh().locateSegment(topic, wanted, soon())).rejects.toMatchObject({ code: 'corrupt', extra });
      await behind.store.delete(place.object, soon());
      await expect(fresh().locateSegment(topic, wanted, soon())).rejects.toMatchObject({ code: 'corrupt', extra });
      await behind.store.put(place.object, [bytes], soon());
      expect((await fresh().locateSegment(topic, wanted, soon())).slices).toEqual(slices);
    },
    TEST_MS,
  );
});

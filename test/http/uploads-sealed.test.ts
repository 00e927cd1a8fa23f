import { beforeEach, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { uploadKey } from '../../src/format/item-key.ts';
import { decodeUpload, encodeUpload } from '../../src/format/upload-item.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId, TopicId, UploadId } from '../../src/model/ids.ts';
import { partitionOf } from '../../src/model/partition.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { type Log, openLog } from './log.ts';
import { declared, uploaded } from './some-upload.ts';
import { createTestApp, type TestApp } from './test-app.ts';

// Uploads of which a part of the request, or the whole segment, goes another way.

const HELLO = Buffer.from('hello');
const TEST_MS = 10_000;
const CHILDREN = [
  { segment: 's0000001', lo: 0, hi: 32_767, brokers: [] },
  { segment: 's0000002', lo: 32_768, hi: 65_535, brokers: [] },
];
/** `k0` lies in the lower half, `k1` in the upper one. */
const LOWER = partitionOf(Buffer.from('k0'));

let t: TestApp;
let log: Log;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
});

async function split(): Promise<void> {
  const signal = AbortSignal.timeout(TEST_MS);
  const topic = await t.broker.topics.resolve(log.topic, { fresh: true }, signal);
  const world = { table: t.table, clock: createSystemClock(), random: createSeededRandom(1), signal, run: <T>(work: Promise<T>) => work };
  await replaceSegment(world, topic, { segment: log.segment as SegmentId, children: 2 });
}

test('a message with an upload goes to the successors of a sealed segment by itself', async () => {
  await log.publish({ messages: [{ key: 'k0', text: 'remembered' }] });
  await split();
  const ids = [await uploaded(t, log.topic, HELLO), await uploaded(t, log.topic, HELLO)];
  const sent = await log.publish({ messages: ids.map((upload, at) => ({ key: `k${at}`, upload })) });
  expect(sent.json.results).toEqual([
    { segment: 's0000001', offset: 0 },
    { segment: 's0000002', offset: 0 },
  ]);
  expect((await t.send('GET', `/v1/topics/${log.topic}/uploads/${ids[1]}`)).json).toMatchObject({ segment: 's0000002', offset: 0 });
});

test('batches do not: they are told the successors, and may be submitted there', async () => {
  await log.publish({ messages: [{ key: 'k0', text: 'remembered' }] });
  await split();
  const batches = [rawBatch({ records: [{ key: 'k0', value: '1' }] }), rawBatch({ records: [{ key: 'k0', value: '2' }] })];
  const batch = await uploaded(t, log.topic, Buffer.concat(batches));
  const request = { batch, segment: log.segment, batches: declared(batches, LOWER) };
  const refused = await log.publish(request);
  expect(refused.json).toMatchObject({ status: 409, code: 'segment-sealed', retryable: true, segment: log.segment, successors: CHILDREN });
  expect((await t.send('GET', `/v1/topics/${log.topic}/uploads/${batch}`)).json.state).not.toBe('submitted');
  expect((await log.publish({ ...request, segment: 's0000001' })).json.results).toMatchObject([
    { segment: 's0000001', offset: 0 },
    { offset: 1 },
  ]);
});

test('a part that fails is a problem at its place, which says which upload it is about', async () => {
  let throttled = '';
  const table = interceptTable(createMemoryTable(), (call, make) =>
    throttled !== '' && call.name === 'update head' && 'key' in call && call.key.pk.endsWith(throttled)
      ? Promise.reject(new KelpError('throttled', 'table-throttled', 'slow down'))
      : make(),
  );
  t = createTestApp({ table });
  log = await openLog(t, { segments: 2 });
  const before = await uploaded(t, log.topic, HELLO);
  expect((await log.publish({ messages: [{ key: 'k1', upload: before }] })).status).toBe(200);
  const fresh = await uploaded(t, log.topic, HELLO);
  const both = await log.publish({
    messages: [
      { key: 'k0', upload: fresh },
      { key: 'k1', upload: before },
    ],
  });
  expect(both.status).toBe(207);
  expect(both.json.results).toMatchObject([
    { segment: 's0000000', offset: 0 },
    { status: 409, code: 'upload-submitted', upload: before, segment: 's0000001', offset: 0 },
  ]);
  throttled = 's0000001';
  const [low, high] = [await uploaded(t, log.topic, HELLO), await uploaded(t, log.topic, HELLO)];
  const messages = [
    { key: 'k0', upload: low },
    { key: 'k1', upload: high },
  ];
  const partly = await log.publish({ messages }, { 'kelp-timeout-ms': '300' });
  expect([partly.status, partly.json.results[0].segment, partly.json.results[1].status]).toEqual([207, 's0000000', expect.any(Number)]);
  throttled = '';
  // What the failed part lacks can still be submitted, by whoever asks again.
  expect((await log.publish({ messages: messages.slice(1) })).json.results).toMatchObject([{ segment: 's0000001' }]);
});

test('what a check has found is told', async () => {
  const batches = [rawBatch({ records: [{ key: 'k0' }, { key: 'k0' }] }), rawBatch({ records: [{ key: 'k0' }] })];
  const batch = await uploaded(t, log.topic, Buffer.concat(batches));
  await log.publish({ messages: [{ key: 'k0', text: 'x' }] });
  await log.publish({ batch, segment: log.segment, batches: declared(batches, LOWER) });
  const { id } = (await t.send('GET', `/v1/topics/${log.topic}`)).json;
  const key = uploadKey(id as TopicId, batch as UploadId);
  const { signal } = new AbortController();
  const upload = decodeUpload((await t.table.get(key, signal)) ?? {});
  const found = { ...upload, version: upload.version + 1, checked: true, quarantined: [{ first: 2, count: 1 }] };
  await t.table.put(key, encodeUpload(found), [], signal);
  expect((await t.send('GET', `/v1/topics/${log.topic}/uploads/${batch}`)).json).toMatchObject({
    state: 'submitted',
    offset: 1,
    quarantined: [{ offset: 3, count: 1 }],
  });
});

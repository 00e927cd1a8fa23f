import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { decodeIdempotency } from '../../src/format/idempotency-item.ts';
import { headKey } from '../../src/format/item-key.ts';
import { minuteOf, type SegmentId, segmentId, type UploadId, uploadId } from '../../src/model/ids.ts';
import type { KelpError } from '../../src/model/errors.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS, UPLOADS_PARALLEL_MAX } from '../../src/model/upload-limits.ts';
import { floorUpdate } from '../../src/protocol/floor.ts';
import type { PublishRequest, PublishResult } from '../../src/publish/request.ts';
import { submitting } from '../reference/some-uploads.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { readTopicLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { brief, firstSegment, publishOf } from './requests.ts';
import { stage, submitBatches, submitOf, uploadOf, whereIs } from './uploads.ts';

type Bench = { readonly world: TestWorld; readonly topic: Topic; readonly broker: TestBroker };

async function bench(segments = 1): Promise<Bench> {
  const world = createTestWorld();
  const topic = await world.topic(segments);
  return { world, topic, broker: world.broker() };
}

const results = ({ world, topic, broker }: Bench, request: PublishRequest, by: TestBroker = broker): Promise<PublishResult> =>
  world.run(by.publisher.publish(topic, request, world.signal));
const sent = async (on: Bench, request: PublishRequest, by?: TestBroker): Promise<string[]> => brief(await results(on, request, by));

describe('an upload', () => {
  test('becomes a message, and says so before the answer', async () => {
    const on = await bench(2);
    const uploads = await Promise.all([1, 2, 3].map(() => stage(on.world, on.topic)));
    const [a, b, c] = uploads as [UploadId, UploadId, UploadId];
    expect(
      await sent(
        on,
        submitOf([
          ['k1', a],
          ['k0', b],
          ['k3', c],
        ]),
      ),
    ).toEqual(['s0000001:0', 's0000000:0', 's0000001:1']);
    expect(await Promise.all(uploads.map((one) => whereIs(on.world, on.topic, one)))).toEqual([
      'submitted s0000001:0',
      'submitted s0000000:0',
      'submitted s0000001:1',
    ]);
    expect(await readValues(on.world, on.topic.id)).toEqual([b, a, c]);
  });

  test('goes beside plain messages, in one object of the minute that its item names', async () => {
    const on = await bench();
    const upload = await stage(on.world, on.topic);
    const plain = publishOf(['1', '2']).content;
    const { content } = submitOf([upload]);
    if (plain.kind !== 'messages' || content.kind !== 'messages') throw new Error('messages');
    const messages = [...plain.messages, ...content.messages];
    expect(await sent(on, { content: { kind: 'messages', messages } })).toEqual(['s0000000:0', 's0000000:1', 's0000000:2']);
    const [log] = await readTopicLog(on.world, on.topic.id);
    expect(log?.entries).toHaveLength(1);
    expect((await uploadOf(on.world, on.topic, upload)).attempt).toMatchObject({
      minute: log?.entries[0]?.object.minute,
      delta: 2,
      recordVersion: 1,
    });
    expect(await whereIs(on.world, on.topic, upload)).toBe('submitted s0000000:2');
  });

  test('has an object of the minute that its own attempt names, though the floors of a request’s segments differ', async () => {
    const on = await bench(2);
    const [a, b] = [await stage(on.world, on.topic), await stage(on.world, on.topic)];
    const raise = floorUpdate(minuteOf(on.world.clock.nowMs() + 3_600_000));
    await on.world.table.update(headKey(on.topic.id, segmentId(1)), raise, on.world.signal);
    const request = submitOf([
      ['k1', a],
      ['k0', b],
    ]);
    expect(await sent(on, request)).toEqual(['s0000001:0', 's0000000:0']);
    const logs = await readTopicLog(on.world, on.topic.id);
    const minutes = logs.map(({ entries }) => entries[0]?.object.minute);
    const uploads = await Promise.all([b, a].map((upload) => uploadOf(on.world, on.topic, upload)));
    expect(uploads.map(({ attempt }) => attempt?.minute)).toEqual(minutes);
    expect(new Set(minutes).size).toBe(2);
  });

  test('is submitted once: again it is told where, and under its key as before', async () => {
    const on = await bench();
    const [a, b] = [await stage(on.world, on.topic), await stage(on.world, on.topic)];
    expect(await sent(on, submitOf([a], 'k'))).toEqual(['s0000000:0']);
    expect(await sent(on, submitOf([a], 'k'))).toEqual(['s0000000:0 again']);
    // All handlers of a request under a key are one owner.
    expect((await uploadOf(on.world, on.topic, a)).attempt?.owner).toBe(hash('sha256', 'k'));
    for (const request of [submitOf([a]), submitOf([b, a]), submitOf([a], 'other')]) {
      const [again] = await results(on, request, on.world.broker());
      expect(again).toMatchObject({ kind: 'conflict', code: 'upload-submitted', extra: { upload: a, segment: 's0000000', offset: 0 } });
    }
    expect(await sent(on, submitOf([b]))).toEqual(['s0000000:1']);
    expect(await readValues(on.world, on.topic.id)).toEqual([a, b]);
  });

  test('that is not there, or too late, is refused, and late for good', async () => {
    const on = await bench();
    const none = uploadId(on.world.clock.nowMs(), '0'.repeat(9));
    expect(await sent(on, submitOf([none]))).toEqual(['upload-not-found']);
    const late = await stage(on.world, on.topic, 60_000);
    const slow = await stage(on.world, on.topic);
    await on.world.clock.advance(60_000);
    expect(await sent(on, submitOf([late, slow]))).toEqual(['upload-expired', 'upload-expired']);
    expect(await whereIs(on.world, on.topic, late)).toBe('expired');
    expect(await sent(on, submitOf([late], 'k'))).toEqual(['upload-expired']);
    await on.world.clock.advance(UPLOAD_MS);
    expect(await sent(on, submitOf([slow]))).toEqual(['upload-expired']);
    expect(await readValues(on.world, on.topic.id)).toEqual([]);
  });

  test('of another topic is none', async () => {
    const on = await bench();
    const other = await on.world.topic(1, 'other');
    expect(await sent(on, submitOf([await stage(on.world, other)]))).toEqual(['upload-not-found']);
  });

  test('is named once in a request, and without a producer', async () => {
    const on = await bench();
    const upload = await stage(on.world, on.topic);
    await expect(results(on, submitOf([upload, upload]))).rejects.toMatchObject({ code: 'invalid-upload' });
    const producer = { producer: 'p', epoch: 0, sequence: 0 };
    await expect(results(on, { ...submitOf([upload]), segment: segmentId(0), producer })).rejects.toMatchObject({ code: 'invalid-header' });
    expect(await whereIs(on.world, on.topic, upload)).toBe('staged');
  });

  test('that a younger attempt has is had by one that is younger still; ours is ended before another one is recorded in its place', async () => {
    const on = await bench();
    const upload = await stage(on.world, on.topic);
    const ahead = { ...on.broker.deps, clock: on.world.clock.skewed({ ms: 60_000 }) };
    await submitting(ahead, on.topic, await uploadOf(on.world, on.topic, upload));
    const recorded: string[] = [];
    let guard: unknown;
    const table = interceptTable(on.world.table, async (call, make) => {
      if (call.name === 'put request' && call.op === 'put') {
        recorded.push(...decodeIdempotency(call.item).parts.map(({ cid }) => cid));
        if (recorded.length === 2) guard = (await on.world.table.get(headKey(on.topic.id, firstSegment(on.topic)), on.world.signal))?.['g'];
      }
      return make();
    });
    expect(await sent(on, submitOf([upload], 'k'), on.world.broker({ table }))).toEqual(['s0000000:0']);
    expect(guard).toBe(recorded[0]);
    expect((await uploadOf(on.world, on.topic, upload)).attempt?.cid).toBe(recorded[1]);
  });

  test('that somebody who was stopped has claimed with many others is taken with them, not one after the other', async () => {
    const on = await bench();
    const uploads: UploadId[] = [];
    for (let n = 0; n < 64; n += 1) uploads.push(await stage(on.world, on.topic));
    const stopped = interceptTable(on.world.table, (call, make) => (call.name === 'update head' ? new Promise(() => {}) : make()));
    void on.world.broker({ table: stopped }).publisher.publish(on.topic, submitOf(uploads), on.world.signal);
    await on.world.clock.advance(100);
    expect(new Set(await Promise.all(uploads.map((one) => whereIs(on.world, on.topic, one))))).toEqual(new Set(['submitting']));
    const table = interceptTable(on.world.table, async (_call, make, signal) => {
      await on.world.clock.sleep(10, signal);
      return make();
    });
    const beganMs = on.world.clock.monotonicMs();
    expect(await sent(on, submitOf(uploads), on.world.broker({ table }))).toHaveLength(64);
    // A few calls of the table for as many as are claimed side by side.
    expect(on.world.clock.monotonicMs() - beganMs).toBeLessThan((64 / UPLOADS_PARALLEL_MAX) * 100);
    expect(await whereIs(on.world, on.topic, uploads[63] as UploadId)).toBe('submitted s0000000:63');
  });

  test('that waits for an expected tail is refused, and may be submitted again', async () => {
    const on = await bench();
    const upload = await stage(on.world, on.topic);
    const wish = { ...submitOf([upload]), segment: segmentId(0), matchTail: 1 };
    expect(await sent(on, wish)).toEqual(['tail-mismatch']);
    expect(await sent(on, submitOf([upload]))).toEqual(['s0000000:0']);
    expect(await whereIs(on.world, on.topic, upload)).toBe('submitted s0000000:0');
  });
});

describe('a seal in between', () => {
  const sealedBeforeCommit = (on: Bench): TestBroker => {
    let sealed = false;
    const table = interceptTable(on.world.table, async (call, make) => {
      if (call.name === 'update head' && !sealed) {
        sealed = true;
        await replaceSegment({ ...on.world, run: (work) => work }, on.topic, { segment: firstSegment(on.topic), children: 2 });
      }
      return make();
    });
    return on.world.broker({ table });
  };

  test('moves messages to the successors, with their claims', async () => {
    const on = await bench();
    const [a, b] = [await stage(on.world, on.topic), await stage(on.world, on.topic)];
    expect(
      await sent(
        on,
        submitOf([
          ['k1', a],
          ['k0', b],
        ]),
        sealedBeforeCommit(on),
      ),
    ).toEqual(['s0000002:0', 's0000001:0']);
    expect(await whereIs(on.world, on.topic, a)).toBe('submitted s0000002:0');
    expect(await whereIs(on.world, on.topic, b)).toBe('submitted s0000001:0');
    expect(await readValues(on.world, on.topic.id)).toEqual([b, a]);
  });

  test('leaves batches to the client, who submits the same upload there', async () => {
    const on = await bench();
    const upload = await stage(on.world, on.topic);
    const request = await submitBatches(on.world, on.topic, { upload, segment: segmentId(0), batches: [['1', '2'], ['3']] });
    const [one, two] = await results(on, request, sealedBeforeCommit(on));
    expect([one, two].map((error) => (error as KelpError).code)).toEqual(['segment-sealed', 'segment-sealed']);
    const { successors } = (one as KelpError).extra as { readonly successors: readonly { readonly segment: SegmentId }[] };
    const [{ segment } = { segment: segmentId(0) }] = successors;
    expect(await sent(on, { ...request, segment })).toEqual([`${segment}:0`, `${segment}:2`]);
    expect(await whereIs(on.world, on.topic, upload)).toBe(`submitted ${segment}:0`);
    expect(await readValues(on.world, on.topic.id)).toEqual(['1', '2', '3']);
  });
});

describe('an upload of record batches', () => {
  test('is committed as it lies there: no broker puts anything', async () => {
    const on = await bench();
    await sent(on, publishOf(['0']));
    const upload = await stage(on.world, on.topic);
    const request = await submitBatches(on.world, on.topic, { upload, segment: segmentId(0), batches: [['1', '2'], ['3']], key: 'k' });
    const store = interceptStore(on.world.store, ({ op }, make) => {
      expect(op).not.toBe('put');
      return make();
    });
    const broker = on.world.broker({ store });
    expect(await sent(on, request, broker)).toEqual(['s0000000:1', 's0000000:3']);
    expect(await sent(on, request, broker)).toEqual(['s0000000:1 again', 's0000000:3 again']);
    const [log] = await readTopicLog(on.world, on.topic.id);
    expect(log?.entries.map(({ object }) => object.id)).toEqual([expect.stringMatching(/^o/), upload]);
    expect(log?.messages.map(({ value }) => value)).toEqual(['0', '1', '2', '3']);
    const { attempt, runs, offset } = await uploadOf(on.world, on.topic, upload);
    expect([attempt?.minute, runs, offset]).toEqual([log?.entries[1]?.object.minute, log?.entries[1]?.runs, 1]);
    expect(log?.head.load).toMatchObject({ messages: 4, bytes: (log?.entries[0]?.runs[0]?.bytes ?? 0) + (runs?.[0]?.bytes ?? 0) });
  });

  test('names its segment, has no producer, and only keys of that segment', async () => {
    const on = await bench(2);
    const upload = await stage(on.world, on.topic);
    const request = await submitBatches(on.world, on.topic, { upload, segment: segmentId(0), batches: [['1']] });
    const other = topicSegments(on.topic).filter((segment) => segment !== segmentOf(on.topic, 'a'));
    await expect(results(on, { ...request, segment: other[0] ?? segmentId(9) })).rejects.toMatchObject({
      code: 'invalid-batches',
      field: 'batches[0].partitions',
    });
    const { segment: _, ...nowhere } = request;
    await expect(results(on, nowhere)).rejects.toMatchObject({ code: 'invalid-segment' });
    const producer = { producer: 'p', epoch: 0, sequence: 0 };
    await expect(results(on, { ...request, producer })).rejects.toMatchObject({ code: 'invalid-header' });
    expect(await whereIs(on.world, on.topic, upload)).toBe('staged');
  });
});

const topicSegments = (topic: Topic): SegmentId[] => topic.open.map(({ segment }) => segment);

function segmentOf(topic: Topic, key: string): SegmentId | undefined {
  const partition = partitionOf(new TextEncoder().encode(key));
  return topic.open.find(({ lo, hi }) => lo <= partition && partition <= hi)?.segment;
}

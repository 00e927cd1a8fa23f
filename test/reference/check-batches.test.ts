import { describe, expect, test } from 'vitest';
import { readBatchHeader } from '../../src/format/record-batch-header.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { partitionOf } from '../../src/model/partition.ts';
import { BATCH_HEADERS_PARALLEL_MAX, UPLOAD_BATCHES_BYTES_MAX } from '../../src/model/upload-limits.ts';
import type { DeclaredBatch, Upload } from '../../src/model/upload.ts';
import type { Around, StoreCall } from '../simulation/intercept.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { type RawBatch, rawBatch } from '../format/raw-batch.ts';
import { contentOf, createUploadWorld, forEver, type UploadWorld } from './upload-world.ts';

const PARTITION = partitionOf(Buffer.from('a'));

/** What an honest client says of these batches, one behind the other. */
function declare(batches: readonly Uint8Array[]): DeclaredBatch[] {
  let start = 0;
  return batches.map((batch) => {
    const { bytes, count, crc } = readBatchHeader(batch);
    start += bytes;
    return { start: start - bytes, bytes, count, crc, partitions: Array.from({ length: count }, () => PARTITION) };
  });
}

const records = (count: number, value = 'x'): RawBatch['records'] & object =>
  Array.from({ length: count }, (_, at) => ({ key: 'a', value, timestampDelta: at }));

const check = (world: UploadWorld, { upload }: Pick<Upload, 'upload'>, batches: readonly DeclaredBatch[]) =>
  world.uploads.checkBatches(world.topic, { upload, batches }, forEver);

const refusal = (field: string): object => ({ kind: 'invalid', code: 'invalid-batches', field });

const counted = (asked: { start: number; length: number }[]): UploadWorld =>
  createUploadWorld({
    store: (store) => ({
      ...store,
      getRange: (key, start, length, signal) => {
        asked.push({ start, length });
        return store.getRange(key, start, length, signal);
      },
    }),
  });

describe('uploaded batches', () => {
  test('are what their headers say', async () => {
    const world = createUploadWorld();
    const batches = [rawBatch({ records: records(3) }), rawBatch({ records: records(1), baseTimestamp: 5 })];
    const upload = await world.upload(Buffer.concat(batches));
    const declared = declare(batches);
    expect(await check(world, upload, declared)).toEqual([
      { start: 0, bytes: batches[0]?.length, count: 3, partitions: declared[0]?.partitions, highestTimestampMs: 1_700_000_000_002 },
      { start: batches[0]?.length, bytes: batches[1]?.length, count: 1, partitions: [PARTITION], highestTimestampMs: 5 },
    ]);
  });

  test('are read by their headers alone, small neighbours with one read', async () => {
    const asked: { start: number; length: number }[] = [];
    const world = counted(asked);
    const large = rawBatch({ records: records(1, 'x'.repeat(5_000)) });
    const small = rawBatch({ records: records(1) });
    const batches = [large, small, small, small, large, large];
    const upload = await world.upload(Buffer.concat(batches));
    expect(await check(world, upload, declare(batches))).toHaveLength(6);
    const behind = large.length + 3 * small.length;
    expect(asked.toSorted((a, b) => a.start - b.start)).toEqual([
      { start: 0, length: 61 },
      { start: large.length, length: 3 * small.length + 61 },
      { start: behind + large.length, length: 61 },
    ]);
  });

  test('many are read side by side within a bound, and come in order', async () => {
    let [underWay, most] = [0, 0];
    const slow: Around<StoreCall> = async (call, make) => {
      if (call.op !== 'get') return make();
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return make();
    };
    const world = createUploadWorld({ store: (store) => interceptStore(store, slow) });
    const batches = Array.from({ length: 40 }, (_, at) => rawBatch({ records: records(1, 'x'.repeat(70_000)), baseTimestamp: at }));
    const upload = await world.upload(Buffer.concat(batches));
    const checked = await check(world, upload, declare(batches));
    expect(checked.map(({ highestTimestampMs }) => highestTimestampMs)).toEqual(batches.map((_, at) => at));
    expect(most).toBe(BATCH_HEADERS_PARALLEL_MAX);
  });

  test('are looked at as they come: one that is wrong ends it, and no more is held than is read side by side', async () => {
    const asked: { start: number; length: number }[] = [];
    const world = counted(asked);
    const batches = Array.from({ length: 40 }, () => rawBatch({ records: records(1, 'x'.repeat(70_000)) }));
    const upload = await world.upload(Buffer.concat(batches));
    const [first, ...others] = declare(batches) as [DeclaredBatch, ...DeclaredBatch[]];
    await expect(check(world, upload, [{ ...first, crc: 1 }, ...others])).rejects.toMatchObject(refusal('batches[0].crc'));
    expect(asked.length).toBeLessThan(2 * BATCH_HEADERS_PARALLEL_MAX);
  });

  test.each<[string, RawBatch, string]>([
    ['Snappy', { attributes: 2 }, 'batches[1].attributes'],
    ['log append time', { attributes: 8 }, 'batches[1].attributes'],
    ['a transaction', { attributes: 16 }, 'batches[1].attributes'],
    ['an older format', { magic: 1 }, 'batches[1].magic'],
    ['a length below that of a header', { lengthOff: -100 }, 'batches[1].batchLength'],
    ['a gap in its offsets', { lastOffsetDelta: 3 }, 'batches[1].recordsCount'],
    ['a time before 1970', { baseTimestamp: -1 }, 'batches[1].baseTimestamp'],
    ['a highest time after 9999', { maxTimestamp: 253_402_300_800_000 }, 'batches[1].maxTimestamp'],
    ['a base offset', { baseOffset: 1n }, 'batches[1].baseOffset'],
  ])('are refused with %s', async (_what, batch, field) => {
    const world = createUploadWorld();
    const good = rawBatch({ records: records(2) });
    const bad = rawBatch({ records: records(2), ...batch });
    const upload = await world.upload(Buffer.concat([good, bad]));
    const declared = declare([good, good]).map((one, at) =>
      at === 0 ? one : { ...one, bytes: bad.length, crc: Buffer.from(bad).readUInt32BE(17), count: Buffer.from(bad).readInt32BE(57) },
    );
    await expect(check(world, upload, declared)).rejects.toMatchObject(refusal(field));
  });

  test.each<[string, Partial<DeclaredBatch>, string]>([
    ['crc', { crc: 1 }, 'batches[1].crc'],
    ['count', { count: 3, partitions: [1, 2, 3] }, 'batches[1].count'],
    ['start', { start: 1 }, 'batches[1].offset'],
  ])('with a wrong %s are refused', async (_what, wrong, field) => {
    const world = createUploadWorld();
    const batches = [rawBatch({ records: records(2) }), rawBatch({ records: records(2) })];
    const upload = await world.upload(Buffer.concat(batches));
    const declared = declare(batches).map((one, at) => (at === 1 ? { ...one, ...wrong } : one));
    await expect(check(world, upload, declared)).rejects.toMatchObject(refusal(field));
  });

  test('an index that lies about its lengths is refused, whichever way', async () => {
    const world = createUploadWorld();
    const batches = [rawBatch({ records: records(2) }), rawBatch({ records: records(5) }), rawBatch({ records: records(2) })];
    const upload = await world.upload(Buffer.concat(batches));
    const [first, second, third] = declare(batches) as [DeclaredBatch, DeclaredBatch, DeclaredBatch];
    const longer = { ...first, bytes: first.bytes + 1 };
    const shifted = { ...second, start: second.start + 1, bytes: second.bytes - 1 };
    for (const [declared, field] of [
      // One that leaves a batch out, in front, in the middle, at the end.
      [[second, third], 'batches[0].offset'],
      [[first, third], 'batches[1].offset'],
      [[first, second], 'batches'],
      [[first, second, third, { ...third, start: upload.bytes }], 'batches[3].bytes'],
      // Lengths that add up, and are others.
      [[longer, shifted, third], 'batches[0].bytes'],
      [[{ ...first, bytes: upload.bytes }], 'batches[0].bytes'],
      [[first, second, { ...third, bytes: third.bytes + 1 }], 'batches[2].bytes'],
      [[first, first], 'batches[1].offset'],
      [[], 'batches'],
    ] as const) {
      await expect(check(world, upload, declared)).rejects.toMatchObject(refusal(field));
    }
  });

  test('no batch is found in what is none', async () => {
    const world = createUploadWorld();
    const upload = await world.upload(Buffer.alloc(100));
    const declared = { start: 0, bytes: 100, count: 1, crc: 0, partitions: [0] };
    await expect(check(world, upload, [declared])).rejects.toMatchObject(refusal('batches[0].magic'));
    const short = await world.upload(Buffer.alloc(60));
    await expect(check(world, short, [{ ...declared, bytes: 60 }])).rejects.toMatchObject(refusal('batches[0]'));
  });

  test('of more than an upload of batches may have nothing is read', async () => {
    const bytes = UPLOAD_BATCHES_BYTES_MAX + 1;
    const body = Buffer.from('x');
    const asked: string[] = [];
    const world = createUploadWorld({
      store: (store) => ({
        ...store,
        head: () => Promise.resolve({ bytes, sha256: contentOf(body).sha256 }),
        getRange: (key, ...rest) => {
          asked.push(key);
          return store.getRange(key, ...rest);
        },
      }),
    });
    const upload = await world.upload(body);
    await world.change(upload.upload, { bytes });
    await expect(check(world, upload, [{ start: 0, bytes, count: 1, crc: 0, partitions: [0] }])).rejects.toMatchObject(refusal('batch'));
    expect(asked).toEqual([]);
  });

  test('of an upload that was submitted the store is asked nothing, and its layout has to be right all the same', async () => {
    const asked: { start: number; length: number }[] = [];
    const world = counted(asked);
    const batches = [rawBatch({ records: records(2) })];
    const upload = await world.upload(Buffer.concat(batches));
    await world.change(upload.upload, { state: 'submitted', offset: 0 });
    await world.store.delete(uploadObjectKey(world.topic.id, upload.upload), forEver);
    const declared = declare(batches);
    expect(await check(world, upload, declared)).toMatchObject([{ start: 0, count: 2, partitions: [PARTITION, PARTITION] }]);
    await expect(check(world, upload, [])).rejects.toMatchObject(refusal('batches'));
    expect(asked).toEqual([]);
  });

  test('an object that goes while its headers are read is missing', async () => {
    const world = createUploadWorld({
      store: (store) =>
        interceptStore(store, async (call, make) => {
          const answer = await make();
          if (call.op === 'head') await store.delete(call.key, forEver);
          return answer;
        }),
    });
    const batches = [rawBatch({ records: records(2) })];
    const upload = await world.upload(Buffer.concat(batches));
    await expect(check(world, upload, declare(batches))).rejects.toMatchObject({
      code: 'upload-missing',
      extra: { upload: upload.upload },
    });
  });

  test('that differ from what was announced, or are not there, are refused as any upload', async () => {
    const world = createUploadWorld();
    await world.putTopic(world.topic);
    const batch = rawBatch({ records: records(2) });
    const { upload } = await world.uploads.create(world.topic, contentOf(batch), forEver);
    await expect(check(world, upload, declare([batch]))).rejects.toMatchObject({ code: 'upload-missing' });
    world.store.create(uploadObjectKey(world.topic.id, upload.upload), batch, 'ab'.repeat(32));
    await expect(check(world, upload, declare([batch]))).rejects.toMatchObject({ code: 'upload-differs' });
  });
});

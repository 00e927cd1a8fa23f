import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import type { Run } from '../../src/model/head.ts';
import { REQUEST_BYTES_MAX } from '../../src/model/limits.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Topic } from '../../src/model/topic.ts';
import { CHECK_BYTES_PER_SECOND } from '../../src/model/upload-limits.ts';
import type { Quarantined, Upload } from '../../src/model/upload.ts';
import { checkStored } from '../../src/reference/check-stored.ts';
import { checkUpload } from '../../src/reference/check-upload.ts';
import { type RawBatch, rawBatch, rawRecords } from '../format/raw-batch.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { become, left, stage, submitting } from './some-uploads.ts';

type Scene = { readonly world: TestWorld; readonly topic: Topic; readonly deps: Parameters<typeof checkStored>[0] };

/** A topic of two segments; uploads are submitted to the first, the lower half of the partitions. */
async function scene(): Promise<Scene> {
  const world = createTestWorld();
  // Decompression is other threads' work, for which a virtual clock does not wait.
  const clock = { ...world.clock, sleep: async () => undefined };
  const deps = { ...world.broker().deps, compression: createCompression({ codec: 'none' }), clock };
  return { world, topic: await world.topic(2), deps };
}

const keys = (inFirst: boolean, count: number): string[] =>
  Array.from({ length: 200 }, (_, n) => `k${n}`)
    .filter((key) => partitionOf(Buffer.from(key)) < 32_768 === inFirst)
    .slice(0, count);
const [MINE = '', ALSO_MINE = '', THIRD = ''] = keys(true, 3);
const [OTHERS = ''] = keys(false, 1);
const good = (count = 1): RawBatch => ({ records: Array.from({ length: count }, (_, n) => ({ key: [MINE, ALSO_MINE, THIRD][n % 3]! })) });

/** Submitted as these runs of batches; what the batches say of themselves is what was declared of them. */
async function submitted({ world, topic, deps }: Scene, runs: readonly (readonly (RawBatch | Uint8Array)[])[], as: Partial<Upload> = {}) {
  const bodies = runs.map((batches) => batches.map((batch) => (batch instanceof Uint8Array ? batch : rawBatch(batch))));
  let start = 0;
  const placed = bodies.map((batches): Run => {
    const bytes = batches.reduce((sum, batch) => sum + batch.length, 0);
    const count = batches.reduce((sum, batch) => sum + Buffer.from(batch).readInt32BE(57), 0);
    start += bytes;
    return { start: start - bytes, bytes, count };
  });
  const upload = await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a', body: Buffer.concat(bodies.flat()) });
  const claimed = await submitting({ ...world.broker().deps, ...deps }, topic, upload, placed);
  return become(world, topic, claimed, { state: 'submitted', offset: 0, ...as });
}

const find = (at: Scene, upload: Upload): Promise<readonly Quarantined[]> =>
  checkUpload(at.deps, { topic: at.topic.id, upload }, at.world.signal);

describe('batches that a client has uploaded', () => {
  test('are sound, in one run or several, compressed or not', async () => {
    const at = await scene();
    const records = rawRecords(good(3).records ?? []);
    const packed: RawBatch = { ...good(3), body: gzipSync(records), attributes: 1 };
    expect(await find(at, await submitted(at, [[good(), good(3)], [packed], [good(2)]]))).toEqual([]);
  });

  test.each<readonly [string, RawBatch]>([
    ['a wrong checksum', { ...good(2), crcOff: 1 }],
    ["a key of another segment's", { records: [{ key: MINE }, { key: OTHERS }] }],
    ['a record without a key', { records: [{ key: MINE }, { key: null }] }],
    ['records that are none', { ...good(2), body: Buffer.from('nothing that anybody could read') }],
    ['what is no gzip', { ...good(2), attributes: 1 }],
    ['an unknown compression', { ...good(2), attributes: 3 }],
    ['a transaction', { ...good(2), attributes: 16 }],
    ['offsets with a gap', { records: [{ key: MINE }, { key: MINE, offsetDelta: 2 }] }],
    ['a highest time that is too low', { records: [{ key: MINE }, { key: MINE, timestampDelta: 5 }], maxTimestamp: 1_700_000_000_000 }],
    ['times before 1970', { ...good(2), baseTimestamp: -1, maxTimestamp: -1 }],
    ['what only Kelp may say', { records: [{ key: MINE }, { key: MINE, headers: [['kelp-kind', 'upload']] }] }],
    ['a value that is too large', { records: [{ key: MINE }, { key: MINE, value: Buffer.alloc(1_048_577) }] }],
    ['records beyond what a request may unpack to', { ...good(2), attributes: 1, body: gzipSync(Buffer.alloc(REQUEST_BYTES_MAX + 1)) }],
  ])('with %s are quarantined, and their neighbours are not', async (_, bad) => {
    const at = await scene();
    expect(await find(at, await submitted(at, [[good(3), { count: 2, ...bad }, good(1)], [good(4)]]))).toEqual([{ first: 3, count: 2 }]);
  });

  test('are quarantined as one stretch where they are neighbours, also of another run', async () => {
    const at = await scene();
    const bad = { ...good(2), crcOff: 1 };
    expect(
      await find(
        at,
        await submitted(at, [
          [bad, good(3), bad],
          [bad, good(), bad],
        ]),
      ),
    ).toEqual([
      { first: 0, count: 2 },
      { first: 5, count: 4 },
      { first: 10, count: 2 },
    ]);
  });

  test('are quarantined up to the end of the run where one does not say where the next one begins', async () => {
    const at = await scene();
    const upload = await submitted(at, [[good(3), good(2), good(1)], [good(4)]]);
    const at2 = rawBatch(good(3)).length;
    const body = Buffer.from(await at.world.store.getRange(uploadObjectKey(at.topic.id, upload.upload), 0, 1_000_000, at.world.signal));
    body.writeInt32BE(5, at2 + 8);
    const sha256 = createHash('sha256').update(body).digest('hex');
    await at.world.store.put(uploadObjectKey(at.topic.id, upload.upload), [body], at.world.signal);
    expect(await find(at, { ...upload, sha256 })).toEqual([{ first: 3, count: 3 }]);
  });

  test('that have more bytes than a request are quarantined without being read whole', async () => {
    const at = await scene();
    const large = rawBatch({ ...good(2), body: Buffer.alloc(REQUEST_BYTES_MAX), count: 2 });
    const upload = await submitted(at, [[good()], [large], [good()]]);
    let longest = 0;
    const store = {
      ...at.world.store,
      getRange: (...call: Parameters<typeof at.world.store.getRange>) => {
        longest = Math.max(longest, call[2]);
        return at.world.store.getRange(...call);
      },
    };
    expect(await find({ ...at, deps: { ...at.deps, store } }, upload)).toEqual([{ first: 1, count: 2 }]);
    expect(longest).toBeLessThan(REQUEST_BYTES_MAX / 2);
  });

  test('take the time that their bytes are worth', async () => {
    const at = await scene();
    const value = Buffer.alloc(1_048_576);
    const upload = await submitted(at, [[{ records: [{ key: MINE, value }] }], [{ records: [{ key: MINE, value }] }]]);
    const beganMs = at.world.clock.monotonicMs();
    await at.world.run(find({ ...at, deps: { ...at.deps, clock: at.world.clock } }, upload));
    const ms = at.world.clock.monotonicMs() - beganMs;
    expect(ms).toBeGreaterThanOrEqual((upload.bytes * 1_000) / CHECK_BYTES_PER_SECOND);
    expect(ms).toBeLessThan((upload.bytes * 1_000) / CHECK_BYTES_PER_SECOND + 3);
  });

  test('are nobody’s fault where the store has damaged them: that is no reason to quarantine', async () => {
    const at = await scene();
    const upload = await submitted(at, [[good(2)], [good(2)]]);
    const key = uploadObjectKey(at.topic.id, upload.upload);
    const body = await at.world.store.getRange(key, 0, upload.bytes, at.world.signal);
    const flipped = body.with(70, (body[70] ?? 0) ^ 1);
    for (const damaged of [flipped, body.subarray(0, body.length - 1)]) {
      await at.world.store.put(key, [damaged], at.world.signal);
      await expect(find(at, upload)).rejects.toMatchObject({ kind: 'corrupt' });
    }
    await at.world.store.delete(key, at.world.signal);
    await expect(find(at, upload)).rejects.toMatchObject({ code: 'object-not-found' });
  });
});

describe('what was found', () => {
  const check = (at: Scene, upload: Upload, dryRun = false): Promise<number | undefined> =>
    checkStored(at.deps, { topic: at.topic.id, upload, dryRun }, at.world.signal);

  test('stands in the item, and is counted', async () => {
    const broker = (await scene()).world.broker();
    const at = await scene();
    const own = { ...at, deps: { ...at.deps, telemetry: broker.deps.telemetry } };
    const upload = await submitted(at, [[good(3), { ...good(2), crcOff: 1 }]]);
    expect(await check(own, upload, true)).toBe(2);
    expect([(await left(at.world, at.topic)).items[0]?.checked, broker.notes.counts.size]).toEqual([false, 0]);
    expect(await check(own, upload)).toBe(2);
    expect((await left(at.world, at.topic)).items).toMatchObject([
      { checked: true, quarantined: [{ first: 3, count: 2 }], version: upload.version + 1 },
    ]);
    expect(Object.fromEntries(broker.notes.counts)).toEqual({ 'kelp.uploads.checked': 1, 'kelp.uploads.quarantined': 2 });
    expect(broker.notes.logs.map(({ level }) => level)).toEqual(['warn']);
    // Found the same once more, as after an answer that was lost; and something else, which stays.
    expect(await check(own, upload)).toBe(2);
    const other = await become(at.world, at.topic, upload, { checked: true });
    expect(await check(own, upload)).toBe(undefined);
    expect((await left(at.world, at.topic)).items).toEqual([other]);
  });
});

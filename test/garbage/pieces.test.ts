import { beforeEach, expect, test, vi } from 'vitest';
import { encodeIdempotency } from '../../src/format/idempotency-item.ts';
import { idempotencyKey } from '../../src/format/item-key.ts';
import { GARBAGE_OBJECTS_MAX } from '../../src/model/garbage-limits.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { IDEMPOTENCY_MS } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import { interceptStore } from '../simulation/intercept.ts';
import type { TestWorld } from '../simulation/test-broker.ts';
import { archive, fill, left, NOTHING, PAGE, putOrphan, scene, sweep } from './garbage-world.ts';

// Topics that have more than is looked for at a time.

vi.mock(import('../../src/model/garbage-limits.ts'), async (original) => ({
  ...(await original()),
  GARBAGE_OBJECTS_MAX: 20 as never,
  REQUESTS_LOOKED_AT_MAX: 4 as never,
}));
vi.mock(import('../../src/model/limits.ts'), async (original) => ({ ...(await original()), CLEANUP_PAGE_MAX: 2 as never }));

const MINUTE_MS = 60_000;

let world: TestWorld;
let topic: Topic;
let segment: SegmentId;
beforeEach(async () => {
  ({ world, topic, segment } = await scene());
});

test('all pages go, as many at a time as name so many objects, and then their objects; what is referenced stays', async () => {
  await fill(world, topic, 6 * PAGE + 3);
  await archive(world, topic, { segment, last: 5 * PAGE - 1 });
  for (let n = 0; n < 3 * GARBAGE_OBJECTS_MAX; n += 1) await putOrphan(world, topic, n * MINUTE_MS);
  const would = await sweep(world, { dryRun: true });
  // It would find the same pages again.
  expect(would).toMatchObject({ complete: false, failed: 0 });
  expect(would.pages).toBeLessThan(5);
  expect(await sweep(world)).toMatchObject({
    neverCommitted: 3 * GARBAGE_OBJECTS_MAX,
    archived: 5 * PAGE,
    pages: 5,
    complete: true,
    failed: 0,
  });
  expect(await left(world, topic, [segment])).toMatchObject({ objects: PAGE + 3, pages: 1 });
  expect(await sweep(world)).toEqual(NOTHING);
});

test('what one sweep has no time for is not what the next one has none for', async () => {
  const count = 10 * GARBAGE_OBJECTS_MAX;
  // Looked at in vain each time, since they are referenced and the first ones.
  await fill(world, topic, 3 * GARBAGE_OBJECTS_MAX);
  await world.clock.advance(count * MINUTE_MS);
  for (let n = 0; n < count; n += 1) await putOrphan(world, topic, n * MINUTE_MS);
  let listed = 0;
  const slow = interceptStore(world.store, async (call, make) => {
    listed += Number(call.op === 'list');
    // Two pieces of objects, and some files.
    if (listed > GARBAGE_OBJECTS_MAX + 2) throw new Error('planted: its time is over');
    return make();
  });
  for (let n = 0; (await left(world, topic, [segment])).objects > 3 * GARBAGE_OBJECTS_MAX; n += 1) {
    expect(n).toBeLessThan(100);
    listed = 0;
    await sweep(world, { stores: { store: slow } });
  }
  expect(await sweep(world)).toEqual(NOTHING);
});

test('one sweep that has the time finds all, wherever it begins', async () => {
  await fill(world, topic, GARBAGE_OBJECTS_MAX);
  await world.clock.advance(60 * MINUTE_MS);
  for (let n = 0; n < 60; n += 1) await putOrphan(world, topic, n * MINUTE_MS);
  expect(await sweep(world)).toMatchObject({ neverCommitted: 60, complete: true, failed: 0 });
});

test('of many requests in one partition some are looked at each time, and in the end all', async () => {
  const nowMs = world.clock.nowMs();
  const put = async (n: number, expiresMs: number): Promise<void> => {
    const record = { requestHash: 'hash', version: 1, parts: [], expiresMs };
    const digest = `a${n.toString(16).padStart(2, '0')}`.padEnd(64, '0');
    await world.table.put(idempotencyKey(topic.id, digest), encodeIdempotency(record), [], world.signal);
  };
  // Those that have expired are behind the ones that have not.
  for (let n = 0; n < 256; n += 4) await put(n, n < 128 ? nowMs + IDEMPOTENCY_MS : nowMs - IDEMPOTENCY_MS);
  expect(await sweep(world)).toMatchObject({ complete: false, failed: 0 });
  const requests = async (): Promise<number> => (await left(world, topic, [segment])).requests;
  for (let n = 0; (await requests()) > 32; n += 1) {
    expect(n).toBeLessThan(200);
    await sweep(world);
  }
  // Once they are few, all are looked at.
  expect(await sweep(world, { aheadMs: 3 * IDEMPOTENCY_MS })).toMatchObject({ complete: false });
  for (let n = 0; (await requests()) > 0; n += 1) {
    expect(n).toBeLessThan(200);
    await sweep(world, { aheadMs: 3 * IDEMPOTENCY_MS });
  }
  expect(await sweep(world)).toEqual(NOTHING);
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { inParallel } from '../../src/state/in-parallel.ts';
import { publishOf } from '../publish/requests.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';

// J-27's quiet end: telemetry makes thousands of topics that nobody writes to any more.

const TOPICS = 500;
const IDLE_MS = 600_000;
const CLIENTS = 50;
/** What the broker remembers of a topic, its head and its last object: 5 KB were measured. */
const TOPIC_BYTES_MAX = 16_384;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function usedBytes(): Promise<number> {
  // What the task of before still holds isn't garbage yet.
  await new Promise((resolve) => void setImmediate(resolve));
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Fifty clients make the topics and publish a message to each of them; a few read along. */
async function use(world: TestWorld, broker: TestBroker): Promise<void> {
  const names = Array.from({ length: TOPICS }, (_, n) => `t${n}`);
  const work = inParallel(names, CLIENTS, async (name) => {
    const { topic } = await broker.topics.create(name, { partitionKey: 'key', segments: 1, replicas: 2 }, world.signal);
    await broker.publisher.publish(topic, publishOf(['1']), world.signal);
    const page = await broker.consumer.readTopic(topic, { cursor: 'earliest', messagesMax: 10, bytesMax: 1_000, waitMs: 0 }, world.signal);
    expect(page.slices).toHaveLength(1);
  });
  await world.run(work);
  await world.run(broker.notes.idle());
}

test('J-27 ten idle minutes cost no request of the table or the store', async () => {
  const world = createTestWorld();
  let requests = 0;
  const table = interceptTable(world.table, (_, make) => (requests++, make()));
  const store = interceptStore(world.store, (_, make) => (requests++, make()));
  const broker = world.broker({ table, store, wrapped: true });
  await use(world, broker);
  expect(requests).toBeGreaterThan(3 * TOPICS);
  const before = requests;
  await world.clock.advance(IDLE_MS);
  expect(requests - before).toBe(0);
});

test('J-27 a broker’s memory for an idle topic is bounded', async () => {
  const world = createTestWorld();
  // Held by nothing but this, so that it can go.
  const held: { broker?: TestBroker } = { broker: world.broker({ wrapped: true }) };
  await use(world, held.broker as TestBroker);
  await world.clock.advance(IDLE_MS);
  const withBroker = await usedBytes();
  expect(held.broker).toBeDefined();
  delete held.broker;
  const bytes = Math.round((withBroker - (await usedBytes())) / TOPICS);
  console.log(`[idle] ${bytes} bytes a topic`);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(TOPIC_BYTES_MAX);
});

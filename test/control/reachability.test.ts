import { expect, test } from 'vitest';
import { createBrokerDirectory } from '../../src/control/brokers/directory.ts';
import { createReachability } from '../../src/control/reachability.ts';
import type { BrokerRecord } from '../../src/model/broker.ts';
import { LEASE_MS } from '../../src/model/limits.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { brokerId, putBroker, someBroker } from './some-broker.ts';

async function open(id: string, rest: Partial<BrokerRecord> = {}) {
  const { table, clock, signal } = createTestWorld();
  for (const broker of [someBroker('a'), someBroker(id, rest)]) await putBroker(table, broker);
  const reachability = createReachability({ clock, directory: createBrokerDirectory({ table, clock }), self: brokerId('a') });
  return { reachability, clock, signal };
}

test('is known once somebody has asked, or where nobody is there who could', async () => {
  const alone = await open('f', { kind: 'fleet' });
  expect(await alone.reachability.isKnown(alone.signal)).toBe(true);
  const { reachability, signal } = await open('b');
  expect(await reachability.isKnown(signal)).toBe(false);
  reachability.noteAsked();
  expect(await reachability.isKnown(signal)).toBe(true);
});

test('is lost once nobody asks for two leases, though others answer', async () => {
  const { reachability, clock } = await open('b');
  const others = { answer: true };
  const end = new AbortController();
  let lost = false;
  void reachability.untilLost(() => others.answer, end.signal).then(() => (lost = true));
  for (let ms = 0; ms < 60_000; ms += 500) {
    reachability.noteAsked();
    await clock.advance(500);
  }
  // Nobody is there who could ask.
  others.answer = false;
  await clock.advance(60_000);
  expect(lost).toBe(false);
  others.answer = true;
  await clock.advance(LEASE_MS);
  expect(lost).toBe(false);
  await clock.advance(2 * LEASE_MS);
  expect(lost).toBe(true);
  const over = new Error('the term is over');
  await expect(reachability.untilLost(() => true, AbortSignal.abort(over))).rejects.toBe(over);
  expect(clock.sleeping()).toBe(0);
});

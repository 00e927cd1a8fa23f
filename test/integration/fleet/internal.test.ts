import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBrokerProcess, type BrokerProcess } from '../crash/broker-process.ts';
import { freshTable, sharedStack } from '../../stack.ts';
import { ask } from './fleet-api.ts';
import { environmentOf, START_MS } from './fleet.ts';
import { createHttpPeers } from '../../../src/adapters/peers/http-peers.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import type { BrokerId } from '../../../src/model/ids.ts';

// A19: what brokers ask of each other, asked from outside.

const OPERATIONS = ['publish', 'flush', 'refresh', 'lease', 'probe', 'assign', 'suspect', 'drain'];
const ID = 'broker-0' as BrokerId;
let broker: BrokerProcess;
let withoutSecret: BrokerProcess;
beforeAll(async () => {
  const addresses = { store: sharedStack().store, table: await freshTable('dynoxide', AbortSignal.timeout(START_MS)) };
  broker = await createBrokerProcess({ ...addresses, environment: (url) => environmentOf(ID, url) });
  withoutSecret = await createBrokerProcess({
    ...addresses,
    environment: (url) => ({ ...environmentOf('broker-1', url), KELP_INTERNAL_SECRET: '' }),
  });
  await Promise.all([broker.start(), withoutSecret.start()]);
}, START_MS);
afterAll(async () => void (await Promise.all([broker.close(), withoutSecret.close()])));

const statusOf = async (url: string, operation: string, headers: Readonly<Record<string, string>>): Promise<number> => {
  const reply = await ask(url, `POST /v1/internal/${operation}`, { body: { topic: 'any', broker: ID }, headers });
  return reply.answered ? reply.status : 0;
};

test.each(OPERATIONS)('%s without a signature, with a made-up one, and with the root token alone', async (operation) => {
  for (const headers of [{}, { 'kelp-broker': ID }, { 'kelp-broker': ID, 'kelp-signature': `${Date.now()} ${'0'.repeat(64)}` }]) {
    // As of any path that isn't there.
    expect(await statusOf(broker.url, operation, headers)).toBe(404);
    expect(await statusOf(broker.url, operation, { ...headers, authorization: '' })).toBe(404);
  }
});

test('a broker without a secret has no such routes', async () => {
  for (const operation of OPERATIONS) expect(await statusOf(withoutSecret.url, operation, { 'kelp-broker': 'broker-1' })).toBe(404);
});

test('signed with another secret: refused; with the right one: answered', async () => {
  const probe = { broker: { id: ID, url: broker.url }, operation: 'probe', body: [Buffer.from('{}')], timeoutMs: 5_000 };
  const signal = AbortSignal.timeout(10_000);
  const outsider = createHttpPeers({ clock: createSystemClock(), secret: 'a-secret-of-somebody-else' });
  await expect(outsider.send(probe, signal)).rejects.toMatchObject({ code: 'peer-refused' });
  const insider = createHttpPeers({ clock: createSystemClock(), secret: environmentOf(ID, broker.url)['KELP_INTERNAL_SECRET'] ?? '' });
  const answer = await insider.send(probe, signal);
  expect(answer.status).toBe(200);
  expect(JSON.parse(Buffer.from(answer.body).toString())).toMatchObject({ broker: ID });
});

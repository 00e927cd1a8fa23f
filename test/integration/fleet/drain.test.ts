import { Agent } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LEASE_MS } from '../../../src/model/limits.ts';
import { checkHistory } from '../../checkers/check-history.ts';
import { type Crew, startCrew } from '../../clients/crew.ts';
import { readByCursor } from '../../clients/reader.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { brokersOf, drain, expectStatus, leaderOf, segmentsOf } from './fleet-api.ts';
import { type Fleet, type FleetBroker, START_MS, startFleet } from './fleet.ts';

// Brokers that go with notice: no publish fails, though each is sent once.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const TEST_MS = 90_000;
const GONE = { timeout: 10 * LEASE_MS };
/** Nobody is meant to wait above 1 s; the machine is shared. */
const WAIT_MS_MAX = 3_000;
const SEGMENTS = 4;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
}, START_MS);
afterAll(() => fleet.close());
beforeEach(() => fleet.whole(), START_MS);

/** Single attempts, each at one of those that `among` names at that moment. */
async function startLoad(topic: string, among: () => [FleetBroker, ...FleetBroker[]]): Promise<Crew> {
  const random = createSeededRandom(`${topic} ${SEED}`);
  const load = { producers: 0, keyed: 0, plain: 6, timeoutMs: 10_000, patienceMs: 20_000, answerMs: 10_000 };
  return startCrew({ ...load, topic, token: ROOT_TOKEN, random, url: () => random.pick(among()).url });
}

/** Nothing failed, nobody waited, and everything is there. */
async function expectUnharmed(crew: Crew, topic: string): Promise<void> {
  const { publishes, reads } = await crew.finish();
  expect(crew.failures()).toEqual([]);
  expect(crew.longestMs()).toBeLessThan(WAIT_MS_MAX);
  const agent = new Agent();
  const whole = await readByCursor({ topic, token: ROOT_TOKEN, url: () => fleet.others()[0].url, agent });
  agent.destroy();
  expect(checkHistory({ publishes, reads: [...reads, whole] })).toEqual([]);
}

const ids = async (url: string): Promise<string[]> => (await brokersOf(url)).map(({ id }) => id);

test(
  'a broker is drained by the route',
  async () => {
    const topic = await fleet.topic('drained', SEGMENTS);
    const leader = await fleet.leader();
    const [drained, other] = fleet.others(leader);
    const { url } = leader;
    const crew = await startLoad(topic, () => [leader, other ?? leader]);
    await crew.acked(50);
    const served = (await brokersOf(url)).find(({ id }) => id === drained.id)?.segments ?? 0;
    expect(served).toBeGreaterThan(0);
    // Asked of any broker, itself too.
    expect(await expectStatus(drain(drained.url, drained.id, 10), 202)).toEqual({ broker: drained.id, segments: served });
    await expect.poll(() => ids(url), GONE).not.toContain(drained.id);
    await crew.acked(50);
    const segments = await segmentsOf(url, topic);
    expect(segments.filter(({ state }) => state === 'open')).toHaveLength(SEGMENTS);
    expect(segments.filter(({ state }) => state === 'sealed').length).toBeGreaterThan(0);
    await expectUnharmed(crew, topic);
    // A process that has left has nothing more to do.
    await drained.kill();
  },
  TEST_MS,
);

test('nobody who isn’t there is drained, and no pace is endless', async () => {
  const [one] = fleet.others();
  await expectStatus(drain(one.url, 'nobody'), 404);
  await expectStatus(drain(one.url, one.id, 0), 400);
  await expectStatus(drain(one.url, 'No_Broker'), 400);
  expect((await brokersOf(one.url)).some(({ draining }) => draining)).toBe(false);
});

test(
  'a rolling restart of all brokers under load, the leader too',
  async () => {
    const topic = await fleet.topic('rolling', SEGMENTS);
    let restarting: FleetBroker | undefined;
    const crew = await startLoad(topic, () => fleet.others(...(restarting === undefined ? [] : [restarting])));
    for (const broker of fleet.brokers) {
      restarting = broker;
      await crew.acked(30);
      expect(await broker.stop()).toMatchObject({ code: 0 });
      // It has left: nobody has to find out.
      expect(await ids(fleet.others()[0].url)).not.toContain(broker.id);
      await broker.start();
      await fleet.registered(...fleet.brokers);
      restarting = undefined;
      await crew.acked(30);
    }
    await expectUnharmed(crew, topic);
    const leaders = await Promise.all(fleet.brokers.map(async ({ url }) => (await leaderOf(url))?.leader.id));
    expect(new Set(leaders).size).toBe(1);
    for (const broker of fleet.brokers) expect(broker.errors()).not.toContain('"level":"error"');
  },
  TEST_MS,
);

test(
  'the last one is not drained',
  async () => {
    const [last, ...others] = fleet.brokers as [FleetBroker, ...FleetBroker[]];
    const topic = await fleet.topic('last', 1);
    await Promise.all(others.map((broker) => broker.stop()));
    await fleet.registered(last);
    const refused = (await expectStatus(drain(last.url, last.id), 409)) as { code: string };
    expect(refused.code).toBe('last-broker');
    expect(await brokersOf(last.url)).toMatchObject([{ id: last.id, draining: false }]);
    const crew = await startLoad(topic, () => [last]);
    await crew.acked(20);
    await expectUnharmed(crew, topic);
    // Told to stop, it goes at once: there is nobody to leave anything to.
    expect(await last.stop()).toMatchObject({ code: 0 });
  },
  TEST_MS,
);

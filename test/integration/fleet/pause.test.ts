import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LEASE_MS } from '../../../src/model/limits.ts';
import type { Reply } from '../../clients/call.ts';
import { readByCursor } from '../../clients/reader.ts';
import { createBrokerProcess } from '../crash/broker-process.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { brokersOf, leaderOf, placeOf, publish, segmentsOf } from './fleet-api.ts';
import { environmentOf, type Fleet, type FleetBroker, SEGMENT, servedByFollower, START_MS, startFleet } from './fleet.ts';

// Brokers that stand still longer than their lease (F6, J-28 c), and two of one id.

const TEST_MS = 60_000;
const MOVED = { timeout: 6 * LEASE_MS };
const LATE = 5;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
}, START_MS);
afterAll(() => fleet.close());
beforeEach(() => fleet.whole(), START_MS);

const idsAt = async ({ url }: { readonly url: string }): Promise<string[]> => (await brokersOf(url)).map(({ id }) => id);
const leadsAt = async ({ url }: { readonly url: string }): Promise<string | undefined> => (await leaderOf(url))?.leader.id;
const stateAt = async ({ url }: { readonly url: string }, topic: string): Promise<string | undefined> =>
  (await segmentsOf(url, topic)).find(({ segment }) => segment === SEGMENT)?.state;

/** What a client was told of each of its messages. */
type Sent = { readonly number: number; readonly reply: Reply };

/** Everything acknowledged is there, once; everything refused isn't. */
async function expectExact({ url }: FleetBroker, topic: string, sent: readonly Sent[]): Promise<void> {
  const agent = new Agent();
  const places = new Map<string, string[]>();
  const { messages } = await readByCursor({ topic, token: ROOT_TOKEN, url: () => url, agent });
  agent.destroy();
  for (const { id, segment, offset } of messages) places.set(id, [...(places.get(id) ?? []), `${segment}:${offset}`]);
  for (const { number, reply } of sent) {
    if (!reply.answered) throw reply.error;
    const body = JSON.parse(reply.text) as { segment: string; offset: number; indefinite?: boolean };
    const found = places.get(`late/${number}`) ?? [];
    if (reply.status === 200) expect(found).toEqual([`${body.segment}:${body.offset}`]);
    else expect(found.length).toBeLessThanOrEqual(body.indefinite === true ? 1 : 0);
  }
}

/** Longer than its lease, until it is out; then a moment more, since what comes next must hold for however long it was. */
async function pauseUntilOut(broker: FleetBroker): Promise<void> {
  broker.pause();
  await expect.poll(() => idsAt(fleet.others()[0]), MOVED).not.toContain(broker.id);
  await sleep(LEASE_MS / 3);
}

test(
  'a broker that serves is paused past its lease: its segment moves, and what it is asked meanwhile is answered truly afterwards',
  async () => {
    const { topic, victim: paused } = await servedByFollower(fleet, 'paused');
    const leader = await fleet.leader();
    const numbers = Array.from({ length: 2 * LATE }, (_, number) => number);
    const send = async (number: number): Promise<Sent> => {
      return { number, reply: await publish(paused.url, topic, { value: { writer: 'late', number } }) };
    };

    // Some are on their way when it stops, some come while it stands still.
    const early = numbers.slice(0, LATE).map(send);
    paused.pause();
    const late = numbers.slice(LATE).map(send);
    await pauseUntilOut(paused);
    await expect.poll(() => stateAt(leader, topic), MOVED).toBe('sealed');
    const place = await placeOf(publish(leader.url, topic, { value: { writer: 'meanwhile', number: 0 } }));
    expect(place.segment).not.toBe(SEGMENT);

    paused.resume();
    const sent = await Promise.all([...early, ...late]);
    await expectExact(leader, topic, sent);
    await fleet.registered(...fleet.brokers);
    // It has learned where the segment went.
    expect((await placeOf(publish(paused.url, topic, { value: {} }))).segment).toBe(place.segment);
  },
  TEST_MS,
);

test(
  'a leader is paused past its lease: another one leads; it goes on as one of the others',
  async () => {
    const topic = await fleet.topic('led', 2);
    const leader = await fleet.leader();
    const [other] = fleet.others(leader);
    const before = await leaderOf(other.url);
    await pauseUntilOut(leader);
    const after = await leaderOf(other.url);
    expect(after?.epoch).toBeGreaterThan(before?.epoch ?? Infinity);
    expect(after?.leader.id).not.toBe(leader.id);

    leader.resume();
    await fleet.registered(...fleet.brokers);
    for (const broker of fleet.brokers) await expect.poll(() => leadsAt(broker), MOVED).toBe(after?.leader.id);
    expect(await leaderOf(other.url)).toEqual(after);
    await Promise.all(fleet.brokers.map(({ url }) => placeOf(publish(url, topic, { value: {} }))));
  },
  TEST_MS,
);

test(
  'two processes of one id: the later one is it; the other one serves on, and takes nothing back',
  async () => {
    const topic = await fleet.topic('twins', 1);
    const leader = await fleet.leader();
    const [first] = fleet.others(leader);
    const { addresses } = fleet;
    const twin = await createBrokerProcess({ ...addresses, environment: (url) => environmentOf(first.id, url) });
    const urlOf = async (): Promise<string | undefined> => (await brokersOf(leader.url)).find(({ id }) => id === first.id)?.url;
    try {
      await twin.start();
      await expect.poll(urlOf, MOVED).toBe(twin.url);
      const untilMs = performance.now() + LEASE_MS;
      while (performance.now() < untilMs) expect(await urlOf()).toBe(twin.url);
      // Offsets are the segment's, whoever commits.
      const urls = [first.url, twin.url, leader.url];
      const places = await Promise.all(urls.map((url) => placeOf(publish(url, topic, { value: {} }))));
      expect(places.map(({ segment, offset }) => `${segment}:${offset}`).toSorted()).toEqual(
        [0, 1, 2].map((n) => `${places[0]?.segment}:${n}`),
      );
    } finally {
      await first.kill();
      await twin.close();
    }
  },
  TEST_MS,
);

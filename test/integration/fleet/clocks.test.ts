import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LEASE_MS } from '../../../src/model/limits.ts';
import { checkHistory } from '../../checkers/check-history.ts';
import { startCrew } from '../../clients/crew.ts';
import { readByCursor } from '../../clients/reader.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { ask, brokersOf, expectStatus, leaderOf, placeOf, publish, segmentsOf } from './fleet-api.ts';
import { anyBroker, type Fleet, type FleetBroker, START_MS, startFleet } from './fleet.ts';

// J-29: the wall clock of one broker, then of all, is set forward and back while all else goes on.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const TEST_MS = 90_000;
const HOUR_MS = 3_600_000;
const JUMPS = 12;
const JUMP_MS = 150;
const SEGMENTS = 3;
/** One step: whoever would be taken for dead by a clock has been by then. */
const STEP_MS = LEASE_MS + 500;
/** Longer than all steps of one broker together, and the same at each of them. */
const POLL_MS = 20_000;
const KEYS = Array.from({ length: 8 }, (_, i) => `key-${i}`);

let fleet: Fleet;
let dir: string;
const fileOf = (id: string): string => join(dir, id);
const shift = ({ id }: { readonly id: string }, ms: number): void => writeFileSync(fileOf(id), String(ms));

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kelp-clocks-'));
  for (const i of [0, 1, 2]) shift({ id: `broker-${i}` }, 0);
  const imports = [join(import.meta.dirname, 'shift-clock.ts')];
  fleet = await startFleet({ imports, environment: (id) => ({ KELP_TEST_CLOCK_FILE: fileOf(id) }) });
}, START_MS);
afterAll(async () => {
  await fleet.close();
  rmSync(dir, { recursive: true, force: true });
});

/** All that must not move with a clock: who leads since when, who is there, and who serves what. */
async function calm(url: string, topic: string): Promise<unknown> {
  const [leader, brokers, segments] = await Promise.all([leaderOf(url), brokersOf(url), segmentsOf(url, topic)]);
  return {
    leader,
    brokers: brokers.map((broker) => ({ id: broker.id, url: broker.url, segments: broker.segments })),
    segments: segments.map(({ segment, state }) => ({ segment, state })),
  };
}

/** Publishes to all segments through this one, which commits some and hands others on; through its neighbour the other way round. */
async function expectPublishes(shifted: FleetBroker, topic: string): Promise<void> {
  const [neighbour] = fleet.others(shifted);
  for (const { url } of [shifted, neighbour]) await Promise.all(KEYS.map((key) => placeOf(publish(url, topic, { key, value: {} }))));
}

test(
  `a clock ±1 h, jumping, and all of them: no take-over, no poll is cut, commits and forwards go on (KELP_TEST_SEED=${SEED})`,
  async () => {
    const [topic, quiet, asked] = [
      await fleet.topic('clocks', SEGMENTS),
      await fleet.topic('quiet', 1),
      await fleet.topic('asked', SEGMENTS),
    ];
    const leader = await fleet.leader();
    const [shifted, watcher] = fleet.others(leader) as [FleetBroker, FleetBroker];
    const random = createSeededRandom(`clocks ${SEED}`);
    const load = { producers: 1, keyed: 1, plain: 1, streams: 1, timeoutMs: 10_000, patienceMs: 20_000, answerMs: 10_000 };
    const crew = await startCrew({ ...load, topic, token: ROOT_TOKEN, url: anyBroker(fleet.brokers, random), random });
    await crew.acked(50);
    const before = await calm(watcher.url, topic);
    const beganMs = performance.now();
    const polls = fleet.brokers.map(async ({ url }) => {
      const answer = await expectStatus(ask(url, `GET /v1/topics/${quiet}/messages?cursor=latest&waitMs=${POLL_MS}`), 200);
      return { answer, waitedMs: performance.now() - beganMs };
    });

    async function step(brokers: readonly FleetBroker[], ms: number): Promise<void> {
      for (const broker of brokers) shift(broker, ms);
      await sleep(STEP_MS); // nothing is to happen meanwhile
      await expectPublishes(shifted, asked);
      await crew.acked(20);
      expect(await calm(watcher.url, topic)).toEqual(before);
    }
    await step([shifted], HOUR_MS);
    await step([shifted], -HOUR_MS);
    for (let i = 0; i < JUMPS; i += 1) {
      shift(shifted, (random.chance(0.5) ? 1 : -1) * random.integer(HOUR_MS));
      await sleep(JUMP_MS);
    }
    await step([leader], HOUR_MS);
    await step(fleet.brokers, -HOUR_MS);
    await step(fleet.brokers, 0);

    for (const { answer, waitedMs } of await Promise.all(polls)) {
      expect(answer).toMatchObject({ messages: [] });
      expect(waitedMs).toBeGreaterThanOrEqual(POLL_MS - 1_000);
    }
    // Three requests of a producer may overtake each other on their way through two brokers.
    expect(crew.failures().filter((what) => what !== 'refused: sequence-gap')).toEqual([]);
    const { publishes, reads } = await crew.finish();
    const agent = new Agent();
    const whole = await readByCursor({ topic, token: ROOT_TOKEN, url: () => watcher.url, agent });
    agent.destroy();
    expect(checkHistory({ publishes, reads: [...reads, whole] })).toEqual([]);
    // Spills were among it: more commits than a head takes.
    expect(whole.messages.length).toBeGreaterThan(SEGMENTS * 100);
  },
  TEST_MS,
);

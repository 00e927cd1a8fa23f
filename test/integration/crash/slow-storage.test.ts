import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { peakMemoryBytes } from '../../../infra/bench/process-usage.ts';
import type { Reply } from '../../clients/call.ts';
import { type FaultyBroker, problemOf, startFaultyBroker } from '../faulty-broker.ts';
import { isCommit, isObjectPut, slowDown } from '../proxied-requests.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** J-26 has 2 s a PUT, 10 s of refusals and a minute in all; `KELP_TEST_SLOW_MS=2000` is that. */
const PUT_MS = Number(process.env['KELP_TEST_SLOW_MS'] ?? 400);
const OUTAGE_MS = 5 * PUT_MS;
const TEST_MS = 120_000 + 30 * PUT_MS;
const MEBIBYTE = 1_048_576;
/**
 * Of what limits.ts lets a broker hold: 96 MiB of bodies, 64 MiB of publishes as they are and compressed, 16 MiB of objects stored
 * last; then Node itself with its garbage. 360 to 460 MiB were measured.
 */
const MEMORY_MAX = 600 * MEBIBYTE;
/** Requests of 8 MiB that fit into the publishers' 64 MiB. */
const HELD_MAX = 8;

let faulty: FaultyBroker;
beforeAll(async () => {
  faulty = await startFaultyBroker();
}, TEST_MS);
afterAll(() => faulty.close());

test(
  `J-26 slow storage, an outage, and kill -9 in between: unique offsets, and it recovers by itself (KELP_TEST_SEED=${SEED})`,
  async () => {
    const topic = await faulty.topic('slow', 2);
    const random = createSeededRandom(`slow ${SEED}`);
    // Eight writers.
    const crew = await faulty.crew({ topic, producers: 2, keyed: 2, plain: 2, timeoutMs: 4 * PUT_MS, patienceMs: 60_000, random });
    const slow = faulty.store.plant({ matches: isObjectPut, fault: { kind: 'delay', ms: PUT_MS }, count: Infinity });
    await crew.acked(60);
    await faulty.broker.kill();
    await faulty.broker.start();
    await crew.acked(60);
    slow.end();

    const outage = faulty.store.plant({ matches: isObjectPut, fault: slowDown, count: Infinity });
    await outage.struck;
    const acked = crew.ledger.count('acked');
    await new Promise((resolve) => void setTimeout(resolve, OUTAGE_MS));
    // What was under way when the outage began may have ended well.
    const duringOutage = crew.ledger.count('acked') - acked;
    outage.end();
    await crew.acked(60);

    const afterCommit = faulty.table.plant({ matches: isCommit, fault: { kind: 'hold-answer' } });
    await afterCommit.struck;
    await faulty.broker.kill();
    await faulty.broker.start();
    await crew.acked(60);

    expect(await faulty.findings(topic, crew)).toEqual([]);
    expect(duringOutage).toBeLessThan(60);
  },
  TEST_MS,
);

test(
  'J-26 more than a broker may hold: the surplus gets 503 with Retry-After, and memory stays bounded',
  async () => {
    const topic = await faulty.topic('surplus', 1);
    const planted = faulty.store.plant({ matches: isObjectPut, fault: { kind: 'hold' }, count: Infinity });
    const text = randomBytes(750 * 1_024).toString('base64');
    const eightMiB = { messages: Array.from({ length: 8 }, () => ({ key: 'a', text })) };
    const early: Reply[] = [];
    let taken = false;
    const flood = Array.from({ length: 24 }, async () => {
      const reply = await faulty.publish(topic, eightMiB, { 'kelp-timeout-ms': '60000' });
      if (!taken) early.push(reply);
      return reply;
    });
    // The store takes nothing yet.
    await expect.poll(() => early.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(24 - HELD_MAX);
    for (const reply of early) {
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as string } });
      expect(problemOf(reply)).toMatchObject({ code: 'unavailable', retryable: true, indefinite: false });
    }
    const refused = early.length;
    taken = true;
    planted.end();
    const replies = await Promise.all(flood);
    expect(replies.filter(({ answered }) => answered)).toHaveLength(24);
    expect(replies.map(statusOf).toSorted((x, y) => x - y)).toEqual([...fill(24 - refused, 200), ...fill(refused, 503)]);
    const peak = peakMemoryBytes(faulty.broker.pid());
    console.log(`[slow] ${refused} of ${replies.length} refused, peak memory ${Math.round((peak ?? 0) / MEBIBYTE)} MiB`);
    expect(peak).toBeLessThan(MEMORY_MAX);
    // All of it was given back, and what was refused is not there.
    expect(await faulty.publish(topic, eightMiB)).toMatchObject({ status: 200 });
    const { text: segment } = (await faulty.get(`topics/${topic}/segments/s0000000`)) as { text: string };
    expect(JSON.parse(segment)).toMatchObject({ tail: 8 * (24 - refused + 1) });
  },
  TEST_MS,
);

const fill = (count: number, status: number): number[] => Array.from({ length: count }, () => status);
const statusOf = (reply: Reply): number => (reply.answered ? reply.status : 0);

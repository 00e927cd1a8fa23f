import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkHistory } from '../../checkers/check-history.ts';
import type { Finding, Publish, Read } from '../../checkers/history.ts';
import { startCrew } from '../../clients/crew.ts';
import { type OwnStack, startOwnStack } from '../../own-stack.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { audit } from '../crash/audit.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { segmentsOf } from './fleet-api.ts';
import { anyBroker, type Fleet, START_MS, startFleet } from './fleet.ts';
import { befall, type Misfortune, misfortunes } from './misfortunes.ts';

// F26, F6, F25: of three brokers under load one after the other is killed, paused past its lease, drained, or told to stop.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** `npm run soak` has it last for minutes. */
const RUN_MS = Number(process.env['KELP_TEST_FLEET_MS'] ?? 45_000);
const TEST_MS = 2 * RUN_MS + 120_000;
const SEGMENTS = 4;
/** Eight that count their messages, and one of each other kind. */
const WRITERS = { producers: 2, keyed: 1, plain: 1 };
const READERS = { followers: 2, streams: 2 };
/** A paused broker costs its clients an attempt; they wait a little longer than a broker takes. */
const TIMES = { timeoutMs: 3_000, patienceMs: 60_000, answerMs: 5_000 };
/** Messages acknowledged between two misfortunes: it has recovered by itself. */
const RECOVERED = 40;

let stack: OwnStack;
let fleet: Fleet;
beforeAll(async () => {
  stack = await startOwnStack();
  fleet = await startFleet({ addresses: stack });
}, 2 * START_MS);
afterAll(async () => {
  await fleet.close();
  await stack.stop();
});

test(
  `nothing acknowledged is lost or doubled, keys and cursors keep their order (KELP_TEST_SEED=${SEED} KELP_TEST_FLEET_MS=${RUN_MS})`,
  async () => {
    const random = createSeededRandom(`chaos ${SEED}`);
    const topic = await fleet.topic('chaos', SEGMENTS);
    const url = anyBroker(fleet.brokers, random.fork('urls'));
    const crew = await startCrew({ ...WRITERS, ...READERS, ...TIMES, topic, token: ROOT_TOKEN, url, random: random.fork('crew') });
    const counts = new Map<Misfortune, number>();
    const untilMs = performance.now() + RUN_MS;
    const how = random.fork('how');
    for (const next of misfortunes(random.fork('what'), fleet.brokers)) {
      await crew.acked(RECOVERED);
      if (performance.now() > untilMs) break;
      console.log(`[fleet] ${next[0]} ${next[1].id}, ${crew.ledger.count('acked')} acknowledged`);
      await Promise.all([befall(fleet, next, how), crew.acked(RECOVERED)]);
      counts.set(next[0], (counts.get(next[0]) ?? 0) + 1);
    }
    const { publishes, reads, met } = await crew.finish();
    const moved = (await segmentsOf(fleet.others()[0].url, topic)).filter(({ state }) => state === 'sealed').length;
    const [first, ...others] = fleet.brokers;
    if (first === undefined) throw new Error('a fleet has brokers');
    await Promise.all(others.map((broker) => broker.kill()));
    const { findings, stored, complete } = await audit({ addresses: stack, broker: first, topic, publishes, reads });
    console.log(`[fleet] ${JSON.stringify({ ...Object.fromEntries(counts), sent: publishes.length, stored, moved, met: [...met] })}`);

    expect(findings).toEqual([]);
    expect(moved).toBeGreaterThan(0);
    expect(reads).toHaveLength(4);
    // Each of them has everything that was acknowledged, or the crew would not have finished.
    for (const broker of fleet.brokers) expect(broker.errors()).not.toContain('"level":"error"');
    expectSharp(publishes, complete);
  },
  TEST_MS,
);

/** The checker sees what is planted in this very history. */
function expectSharp(publishes: readonly Publish[], complete: readonly Read[]): void {
  const acked = publishes.find(({ outcome }) => outcome === 'acked')?.id;
  const faultsOf = (spoil: (read: Read) => Read): Set<Finding['fault']> =>
    new Set(checkHistory({ publishes, reads: complete.map(spoil) }).map(({ fault }) => fault));
  const without = ({ messages, ...read }: Read): Read => ({ ...read, messages: messages.filter(({ id }) => id !== acked) });
  const twice = ({ messages, ...read }: Read): Read => ({
    ...read,
    messages: messages.flatMap((seen) => (seen.id === acked ? [seen, seen] : [seen])),
  });
  const backwards = ({ messages, ...read }: Read): Read => ({ ...read, messages: messages.toReversed() });
  expect(faultsOf(without)).toContain('lost-write');
  expect(faultsOf(twice)).toContain('nonmonotonic-poll');
  expect(faultsOf(backwards)).toContain('key-order');
}

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SegmentRange, Topic } from '../../../src/model/topic.ts';
import { checkHistory } from '../../checkers/check-history.ts';
import type { Finding, History, Read } from '../../checkers/history.ts';
import { type Crew, startCrew } from '../../clients/crew.ts';
import { type OwnStack, startOwnStack } from '../../own-stack.ts';
import { createSeededRandom, type SeededRandom } from '../../simulation/seeded-random.ts';
import { tiles } from '../../topology/tiles.ts';
import { audit } from '../crash/audit.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { changeByHand, type Outcomes } from './change-by-hand.ts';
import { scalingOf, segmentsOf } from './fleet-api.ts';
import { anyBroker, type Fleet, START_MS, startFleet } from './fleet.ts';
import { befall, type Misfortune, misfortunes } from './misfortunes.ts';
import { type WatchedTable, watchTable } from './watched-table.ts';

// F26, F6, F25, F8, F12, F13, F28: of three brokers under load one after the other is killed, paused past its lease, drained, or told to
// stop, while the topic's segments are split and merged by hand, sometimes at two brokers at once, and split by whoever leads.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** `npm run soak` has it last for minutes. */
const RUN_MS = Number(process.env['KELP_TEST_FLEET_MS'] ?? 45_000);
const TEST_MS = 4 * RUN_MS + 120_000;
const SEGMENTS = 4;
/** Eight that count their messages, and one of each other kind. */
const WRITERS = { producers: 2, keyed: 1, plain: 1 };
/** Of them from the beginning; two come later. */
const READERS = { followers: 1, streams: 2 };
/** A paused broker costs its clients an attempt; they wait a little longer than a broker takes. */
const TIMES = { timeoutMs: 3_000, patienceMs: 60_000, answerMs: 5_000 };
/** Messages acknowledged between two misfortunes: it has recovered by itself. */
const RECOVERED = 40;
/** Who split and merge, each with so many messages acknowledged between two changes. */
const HANDS = 2;
const BETWEEN_CHANGES = 12;
/** A small part of what comes, and more segments than hands leave: whoever leads has it split; and how often that is looked at. */
const SCALING = { targetMessagesPerSecond: 2, maxSegments: 12 };
const REBALANCE_MS = '1000';
/** Splits and merges; a slow machine takes up to four times as long for them. */
const CHANGES_MIN = Math.floor(RUN_MS / 1_800);

let stack: OwnStack;
let watched: WatchedTable;
let fleet: Fleet;
beforeAll(async () => {
  stack = await startOwnStack();
  watched = await watchTable(stack.table);
  const environment = () => ({ KELP_REBALANCE_MS: REBALANCE_MS });
  fleet = await startFleet({ addresses: { store: stack.store, table: watched.table }, environment });
}, 2 * START_MS);
afterAll(async () => {
  await fleet.close();
  await watched.close();
  await stack.stop();
});

test(
  `F26, F8, F12, F13: nothing acknowledged is lost or doubled, keys and cursors keep their order (KELP_TEST_SEED=${SEED} KELP_TEST_FLEET_MS=${RUN_MS})`,
  async () => {
    const random = createSeededRandom(`chaos ${SEED}`);
    const topic = await fleet.topic('chaos', SEGMENTS, SCALING);
    const url = anyBroker(fleet.brokers, random.fork('urls'));
    const crew = await startCrew({ ...WRITERS, ...READERS, ...TIMES, topic, token: ROOT_TOKEN, url, random: random.fork('crew') });
    const hands = new AbortController();
    const open = (): readonly SegmentRange[] => watched.versions(topic).at(-1)?.open ?? [];
    const next = (): Promise<void> => crew.acked(BETWEEN_CHANGES);
    const changing = Promise.all(
      Array.from({ length: HANDS }, (_, n) => changeByHand({ fleet, topic, random: random.fork(`hand ${n}`), open, next }, hands.signal)),
    );
    // Waited for below: who fails with a change fails the test in the end.
    changing.catch(() => undefined);
    const isEnough = (): boolean => changesOf(watched.versions(topic)) >= CHANGES_MIN;
    const counts = await suffer(crew, random, isEnough);
    hands.abort();
    const asked = sumOf(await changing);
    const { publishes, reads, met } = await crew.finish();
    await expect.poll(() => settled(topic)).toEqual({ pending: [], tiled: true });
    const segments = await segmentsOf(fleet.others()[0].url, topic);
    const planned = (await scalingOf(fleet.others()[0].url, topic)).filter(({ by }) => by === 'planner').length;
    const [first, ...others] = fleet.brokers;
    if (first === undefined) throw new Error('a fleet has brokers');
    await Promise.all(others.map((broker) => broker.kill()));
    const { findings, stored, complete } = await audit({ addresses: stack, broker: first, topic, publishes, reads, segments });
    const became = {
      split: segments.filter(({ successors }) => successors.length === 2).length,
      merged: segments.filter(({ predecessors }) => predecessors.length === 2).length,
      moved: segments.filter(({ lo, hi, successors }) =>
        segments.some((one) => one.segment === successors[0] && one.lo === lo && one.hi === hi),
      ).length,
    };
    const told = {
      ...Object.fromEntries(counts),
      asked: Object.fromEntries(asked),
      ...became,
      planned,
      versions: watched.versions(topic).length,
    };
    console.log(`[fleet] ${JSON.stringify({ ...told, sent: publishes.length, stored, met: Object.fromEntries(met) })}`);

    expect(findings).toEqual([]);
    expect(watched.problems()).toEqual([]);
    expect(became.moved).toBeGreaterThan(0);
    expect(planned).toBeGreaterThan(0);
    expect(Math.min(became.split, became.merged)).toBeGreaterThan(CHANGES_MIN / 5);
    expect(became.split + became.merged).toBeGreaterThanOrEqual(CHANGES_MIN);
    // An answer that says that it is made is no lie.
    expect(became.split).toBeGreaterThanOrEqual(asked.get('split') ?? 0);
    expect(became.merged).toBeGreaterThanOrEqual(asked.get('merge') ?? 0);
    // Each of them has everything that was acknowledged since it began, or the crew would not have finished.
    expect(reads.map(({ since }) => since === undefined)).toEqual([true, true, true, false, false]);
    for (const broker of fleet.brokers) expect(broker.errors()).not.toContain('"level":"error"');
    expectSharp({ publishes, reads: complete, segments });
  },
  TEST_MS,
);

/** One misfortune after the other, for as long as the run lasts. After some, two readers come: from the end, and from a time gone by. */
async function suffer(crew: Crew, random: SeededRandom, isEnough: () => boolean): Promise<ReadonlyMap<Misfortune, number>> {
  const counts = new Map<Misfortune, number>();
  const beganMs = performance.now();
  const how = random.fork('how');
  let past = { timeMs: 0, event: 0 };
  for (const [kind, broker] of misfortunes(random.fork('what'), fleet.brokers)) {
    await crew.acked(RECOVERED);
    const ranMs = performance.now() - beganMs;
    if (ranMs > 4 * RUN_MS || (ranMs > RUN_MS && isEnough())) break;
    console.log(`[fleet] ${kind} ${broker.id}, ${crew.ledger.count('acked')} acknowledged`);
    await Promise.all([befall(fleet, [kind, broker], how), crew.acked(RECOVERED)]);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const suffered = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (suffered === 1) past = { timeMs: Date.now(), event: crew.ledger.events() };
    if (suffered !== 2) continue;
    crew.follow('from the end', 'latest');
    crew.follow('from a time', `timestamp:${past.timeMs}`, past.event);
  }
  return counts;
}

/** Splits and merges that were begun. */
const changesOf = (versions: readonly Topic[]): number =>
  new Set(versions.flatMap(({ changes }) => changes.filter(({ kind }) => kind === 'split' || kind === 'merge').map(({ id }) => id))).size;

function sumOf(outcomes: readonly Outcomes[]): Outcomes {
  const sum: Outcomes = new Map();
  for (const [what, count] of outcomes.flatMap((one) => [...one])) sum.set(what, (sum.get(what) ?? 0) + count);
  return sum;
}

async function settled(topic: string): Promise<{ readonly pending: readonly string[]; readonly tiled: boolean }> {
  const segments = await segmentsOf(fleet.others()[0].url, topic);
  const open = segments.filter(({ state }) => state === 'open').toSorted((a, b) => a.lo - b.lo);
  return { pending: segments.flatMap(({ segment, state }) => (state === 'pending' ? [segment] : [])), tiled: tiles(open) };
}

/** The checker sees what is planted in this very history. */
function expectSharp({ publishes, reads, segments }: Required<History>): void {
  const acked = publishes.find(({ outcome }) => outcome === 'acked')?.id;
  const faultsOf = (spoil: (read: Read) => Read): Set<Finding['fault']> =>
    new Set(checkHistory({ publishes, reads: reads.map(spoil), segments }).map(({ fault }) => fault));
  const without = ({ messages, ...read }: Read): Read => ({ ...read, messages: messages.filter(({ id }) => id !== acked) });
  const twice = ({ messages, ...read }: Read): Read => ({
    ...read,
    messages: messages.flatMap((seen) => (seen.id === acked ? [seen, seen] : [seen])),
  });
  const backwards = ({ messages, ...read }: Read): Read => ({ ...read, messages: messages.toReversed() });
  expect(faultsOf(without)).toContain('lost-write');
  expect(faultsOf(twice)).toContain('nonmonotonic-poll');
  expect([...faultsOf(backwards)]).toEqual(expect.arrayContaining(['key-order', 'lineage-order']));
}

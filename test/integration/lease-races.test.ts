import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { createLeaderFinder } from '../../src/control/leader/find-leader.ts';
import { createLeadership } from '../../src/control/leader/leadership.ts';
import { type Claim, readLease, release, renew, sendClaim } from '../../src/control/leader/lease-steps.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { LEASE_MS } from '../../src/model/limits.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { createNotes } from '../control/leader/arena.ts';
import { createTermWatch, type TermWatch } from '../control/leader/term-watch.ts';
import { createFaultyTable } from '../faults/faulty-table.ts';
import { randomTableFaults } from '../faults/random-faults.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { freshTable } from '../stack.ts';

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const CONTENDERS = 3;
const TEST_MS = 60_000;
/** Short, so that terms run out in the race. */
const LEASE_MS_RACED = 600;
/** The machine may be slow, and then there are fewer rounds. */
const STEPS_MS_MAX = 15_000;
const TERMS_MS_MAX = 4_000;

const clock = createSystemClock();
const random = createSystemRandom();
const { signal } = new AbortController();
const tables = new Map<string, MetadataTable>();

beforeAll(async () => {
  for (const kind of ['dynoxide', 'ministack'] as const) {
    tables.set(kind, createLeanTable({ ...(await freshTable(kind, AbortSignal.timeout(TEST_MS))), clock }));
  }
}, TEST_MS);
afterAll(() => tables.clear());

function tableOf(kind: string): MetadataTable {
  const table = tables.get(kind);
  if (table === undefined) throw new Error(`no table ${kind}`);
  return table;
}

const addressOf = (contender: number) => ({ id: `c${contender}` as BrokerId, url: `http://c${contender}` });

type Steps = { readonly rounds: number; readonly findings: readonly string[] };

/** All take the same lease at once, and one takes what was there before; the winner renews or releases it. */
async function raceByStep(table: MetadataTable, rounds: number): Promise<Steps> {
  const findings: string[] = [];
  const endMs = clock.monotonicMs() + STEPS_MS_MAX;
  const deps = { table, clock };
  let { lease } = await readLease(deps, undefined, signal);
  let before = lease;
  let done = 0;
  for (; done < rounds && clock.monotonicMs() < endMs; done += 1) {
    const seen = [before, ...Array.from({ length: CONTENDERS }, () => lease)];
    const claims = seen.map((at): Claim => ({ holder: random.base36(16), seen: at, leaseMs: LEASE_MS }));
    const answers = await Promise.all(claims.map((claim, contender) => sendClaim({ ...deps, self: addressOf(contender) }, claim, signal)));
    const [won, ...others] = answers.flatMap(({ holding }) => holding ?? []);
    const epoch = (lease?.epoch ?? 0) + 1;
    if (won?.epoch !== epoch || others.length > 0) findings.push(`round ${done}: ${others.length + 1} won epoch ${epoch}`);
    if (won === undefined) break;
    before = lease;
    const next = await (done % 2 === 0 ? release(deps, won, signal) : renew(deps, won, signal).then(({ watch }) => watch));
    if (next.lease?.epoch !== epoch) findings.push(`round ${done}: the lease of epoch ${epoch} is gone`);
    ({ lease } = next);
  }
  return { rounds: done, findings };
}

/** Contenders that lead for a moment, one after the other. `share`: of their requests that fail, so that some never release. */
async function raceByTerm(
  table: MetadataTable,
  { rounds, share }: { readonly rounds: number; readonly share: number },
): Promise<TermWatch> {
  const terms = createTermWatch(() => clock.monotonicMs());
  const seeded = createSeededRandom(`lease ${SEED}`);
  const endMs = clock.monotonicMs() + TERMS_MS_MAX;
  const mayBegin = (): boolean => terms.terms.length < rounds && clock.monotonicMs() < endMs;

  async function contend(contender: number): Promise<void> {
    const self = addressOf(contender);
    const own = seeded.fork(self.id);
    const choose = randomTableFaults(own.fork('faults'), { share, msMax: LEASE_MS_RACED });
    const faulty = createFaultyTable(table, { choose, clock });
    const finder = createLeaderFinder({ table: faulty, clock });
    const { telemetry } = createNotes();
    const leadership = createLeadership({ table: faulty, clock, random, telemetry, self, finder, leaseMs: LEASE_MS_RACED });
    terms.add(self.id, leadership);
    while (mayBegin()) {
      await leadership.leadOnce(async (term) => {
        terms.begun(self.id, term);
        await clock.sleep(own.integer(4), signal);
        if (!term.signal.aborted) terms.acted(self.id, term);
      }, signal);
    }
  }

  await Promise.all(Array.from({ length: CONTENDERS }, (_, contender) => contend(contender)));
  return terms;
}

describe('races for the lease', () => {
  test.each([
    { kind: 'dynoxide', rounds: 3_000 },
    { kind: 'ministack', rounds: 300 },
  ])(
    'on $kind, up to $rounds times: of those that saw the same one wins, and who saw less never does',
    async ({ kind, rounds }) => {
      const race = await raceByStep(tableOf(kind), rounds);
      expect(race.findings).toEqual([]);
      expect(race.rounds).toBeGreaterThanOrEqual(rounds / 10);
    },
    TEST_MS,
  );

  test.each([
    { kind: 'dynoxide', rounds: 500, share: 0 },
    { kind: 'ministack', rounds: 50, share: 0 },
    { kind: 'dynoxide', rounds: 50, share: 0.15 },
  ])(
    `on $kind, where $share of the requests fail: epochs only rise, and no two terms are valid at once (KELP_TEST_SEED=${SEED})`,
    async ({ kind, rounds, share }) => {
      const race = await raceByTerm(tableOf(kind), { rounds, share });
      expect(race.findings).toEqual([]);
      expect(race.terms.length).toBeGreaterThanOrEqual(rounds / 25);
    },
    TEST_MS,
  );

  test('who takes it whatever stands there is found, by both', async () => {
    const table = tableOf('dynoxide');
    const careless: MetadataTable = { ...table, put: (key, item, _, own) => table.put(key, item, [], own) };
    expect((await raceByStep(careless, 20)).findings).not.toEqual([]);
    expect((await raceByTerm(careless, { rounds: 500, share: 0 })).findings).not.toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { type Call, linearize, type Operation } from '../checkers/linearizable.ts';
import { simulateSmallHistory, type SmallHistory, type SmallOptions } from './small-history.ts';

// More seeds, from another one on: KELP_SIMULATION_SEEDS=1000 KELP_SIMULATION_FROM=101 npx vitest run test/simulation/small-history.test.ts
const SEEDS = Number(process.env['KELP_SIMULATION_SEEDS'] ?? 100);
const FROM = Number(process.env['KELP_SIMULATION_FROM'] ?? 1);

const OPTIONS: SmallOptions = {
  brokers: 2,
  faults: { share: 0.35, msMax: 3_000, copiesOfApplied: true },
  crashMs: 1_500,
  skewMsMax: 3_600_000,
  clients: 3,
  operations: 4,
  sealShare: 0.08,
};

type Publish = Extract<Call, { kind: 'publish' }>;

/** Of each segment whose answers no order explains: the longest beginning that has one, and what fits nowhere behind it. */
const unexplained = ({ segments }: SmallHistory): { order: readonly Operation[]; left: readonly Operation[] }[] =>
  [...segments.values()].flatMap((operations) => {
    const found = linearize(operations);
    return found.isLinearizable ? [] : [{ order: found.order, left: found.left }];
  });

/** In that many histories, more than so many of each. */
const COUNTED = 60;
const LEAST = {
  stored: 100,
  landed: 4,
  neverLanded: 15,
  judged: 50,
  pages: 80,
  emptyPages: 60,
  tails: 150,
  seals: 15,
  faults: 500,
} as const;

/** Whether anybody reads what it publishes. */
const isRead = (call: Call, operations: readonly Call[]): boolean =>
  call.kind === 'publish' && operations.some((other) => other.kind === 'read' && other.values.includes(call.values[0] ?? ''));

describe('small histories', () => {
  test.each(Array.from({ length: SEEDS }, (_, n) => FROM + n))('seed %i is linearizable in each segment', async (seed) => {
    expect(unexplained(await simulateSmallHistory(seed, OPTIONS))).toEqual([]);
  });

  test('two runs of one seed are equal', async () => {
    expect(await simulateSmallHistory(7, OPTIONS)).toEqual(await simulateSmallHistory(7, OPTIONS));
  });

  test('a network that repeats what was refused breaks the promise, and the search finds it', async () => {
    const faults = { ...OPTIONS.faults, copiesOfApplied: false };
    const [found] = unexplained(await simulateSmallHistory(201, { ...OPTIONS, faults }));
    // Refused for a tail that was still to come, and stored by the copy once it was there.
    const refused = found?.order.find((call) => call.kind === 'publish' && call.outcome.kind === 'refused' && call.values[0] === 'c2-3.0');
    expect(refused).toMatchObject({ matchTail: 3, outcome: { end: { tail: 2 } } });
    expect(found?.left.at(-1)).toMatchObject({ kind: 'read', values: ['c2-0.0', 'c2-0.1', 'c0-2.0', 'c2-3.0'] });
  });

  test('what it stands for happens: answers of all kinds, unknown ones both ways, seals, faults', async () => {
    const histories: SmallHistory[] = [];
    for (let seed = 1; seed <= COUNTED; seed += 1) histories.push(await simulateSmallHistory(seed, OPTIONS));
    const all = histories.flatMap(({ segments }) => [...segments.values()]);
    const calls = all.flat();
    const read = new Set<Call>(all.flatMap((operations) => operations.filter((call) => isRead(call, operations))));
    const count = (is: (call: Call) => boolean): number => calls.filter(is).length;
    const published = (kind: string, is: (publish: Publish) => boolean = () => true): number =>
      count((call) => call.kind === 'publish' && call.outcome.kind === kind && is(call));
    const seen = {
      stored: published('stored'),
      landed: published('unknown', (call) => read.has(call)),
      neverLanded: published('unknown', (call) => !read.has(call)),
      judged: published('refused', ({ outcome }) => outcome.kind === 'refused' && outcome.end !== undefined),
      pages: count((call) => call.kind === 'read' && call.values.length > 0),
      emptyPages: count((call) => call.kind === 'read' && call.values.length === 0),
      tails: count((call) => call.kind === 'tail'),
      seals: count((call) => call.kind === 'seal' && call.outcome === 'done'),
      faults: histories.reduce((sum, { faults }) => sum + faults, 0),
    };
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(LEAST[what as keyof typeof seen]);
  });
});

import { describe, expect, test } from 'vitest';
import { retryingStore, retryingTable } from '../../src/adapters/wrap/retrying.ts';
import { KelpError } from '../../src/model/errors.ts';
import { firstOf } from '../faults/choose.ts';
import { createFaultyStore } from '../faults/faulty-store.ts';
import { createFaultyTable } from '../faults/faulty-table.ts';
import { randomDamage, randomStoreFaults, randomTableFaults } from '../faults/random-faults.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { calm, createLog, message, shown } from './fixture.ts';
import type { ManualClock } from './manual-clock.ts';

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);
const halves = [
  { lo: 0, hi: 32_767 },
  { lo: 32_768, hi: 65_535 },
];

/** Lets time pass until the work has settled: signatures and compression take turns of their own. */
async function passing<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  const settle = (): void => void (state.isSettled = true);
  work.then(settle, settle);
  while (!state.isSettled) await clock.advance(100);
  return work;
}

describe('F17 and F18 on the way: 500s, SlowDown, slow, cut, missing and flipped answers', () => {
  test.each(SEEDS)('seed %i: every message comes once, in order, and nothing else; what fails says so', async (seed) => {
    const log = createLog();
    const random = createSeededRandom(seed);
    const written: string[] = [];
    for (const range of halves) {
      const segment = await log.make(range);
      for (let commit = 0, offset = 0; commit < 25; commit += 1) {
        const batches = Array.from({ length: 1 + random.integer(3) }, () =>
          Array.from({ length: 1 + random.integer(3) }, () => message('x')),
        );
        const named = batches.map((batch) => batch.map(() => message(`${segment}/${offset++}`)));
        written.push(...named.flat().map(({ value }) => new TextDecoder().decode(value ?? undefined)));
        await log.append({ segment, batches: named, compress: commit % 2 === 0 });
        if (commit % 4 === 3) await log.spill(segment);
      }
    }
    const { clock } = log;
    const choose = firstOf(
      randomDamage(random.fork('damage'), 0.15),
      randomStoreFaults(random.fork('store'), { share: 0.3, msMax: 3_000 }),
    );
    const store = createFaultyStore(log.store, { choose, clock });
    const table = createFaultyTable(log.table, { choose: randomTableFaults(random.fork('table'), { share: 0.2, msMax: 3_000 }), clock });
    const retries = { clock, random, attemptsMax: 4, budgetMs: 30_000 };
    const reader = log.instance({
      clock,
      table: retryingTable(table, retries),
      store: retryingStore(store, retries),
      cacheBytesMax: 2_000,
    });

    const read: string[] = [];
    const failures = new Set<string>();
    for (let cursor = 'earliest', pages = 0; read.length < written.length; pages += 1) {
      expect(pages).toBeLessThan(2_000);
      const bounds = { cursor, messagesMax: 1 + random.integer(9), bytesMax: 5_000, waitMs: 0 };
      const page = await passing(clock, reader.consumer.readTopic(log.topic, bounds, calm())).catch((error: unknown) => error);
      if (page instanceof KelpError) {
        failures.add(page.kind);
        continue;
      }
      if (page instanceof Error) throw page;
      const { slices, cursor: next } = page as Awaited<ReturnType<typeof reader.consumer.readTopic>>;
      read.push(...(await shown(reader.consumer, slices)));
      cursor = next;
    }
    const texts = read.map((text) => text.slice(text.indexOf('=') + 1));
    expect(texts.toSorted()).toEqual(written.toSorted());
    for (const half of ['s0000000', 's0000001']) {
      expect(texts.filter((text) => text.startsWith(half))).toEqual(written.filter((text) => text.startsWith(half)));
    }
    // Faults that never came would prove nothing.
    expect(store.faults()).toBeGreaterThan(10);
    expect([...failures].filter((kind) => !['corrupt', 'throttled', 'unavailable', 'conflict'].includes(kind))).toEqual([]);
  });
});

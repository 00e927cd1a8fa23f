import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { archive } from './archived-log.ts';
import { calm, createLog, EVERYTHING, type Log, message } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };
const at = (...times: number[]) => times.map((timestampMs) => message(`${timestampMs}`, { timestampMs }));

async function seek(log: Log, timestampMs: number): Promise<{ first: number | undefined; nextOffset: number }> {
  const { consumer } = log.instance();
  const page = await consumer.readSegment(log.topic, { segment: 's0000000' as never, from: { timestampMs }, ...EVERYTHING }, calm());
  expect(await consumer.offsetAt(log.topic, { segment: 's0000000' as never, timestampMs }, calm())).toBe(page.offset);
  return { first: page.slices[0]?.from, nextOffset: page.nextOffset };
}

describe('J-10 seek by time', () => {
  const LAYOUTS: readonly (readonly [name: string, batches: readonly (readonly number[])[]])[] = [
    ['as one batch', [[10, 30, 50, 70]]],
    ['as four batches', [[10], [30], [50], [70]]],
    [
      'as two batches',
      [
        [10, 30],
        [50, 70],
      ],
    ],
  ];
  for (const [name, batches] of LAYOUTS) {
    for (const spills of [0, 1, batches.length]) {
      test(`${name}, ${spills} commits in pages`, async () => {
        const log = createLog();
        const segment = await log.make(ALL);
        for (const [index, batch] of batches.entries()) {
          await log.append({ segment, batches: [at(...batch)] });
          if (index < spills) await log.spill(segment);
        }
        for (const [timestampMs, offset] of [
          [5, 0],
          [10, 0],
          [20, 1],
          [70, 3],
        ] as const) {
          expect(await seek(log, timestampMs)).toEqual({ first: offset, nextOffset: 4 });
        }
        expect(await seek(log, 80)).toEqual({ first: undefined, nextOffset: 4 });
      });
    }
  }

  test('times out of order', async () => {
    for (const batches of [[[100, 50, 200, 150]], [[100], [50], [200], [150]]]) {
      const log = createLog();
      const segment = await log.make(ALL);
      for (const batch of batches) await log.append({ segment, batches: [at(...batch)] });
      expect((await seek(log, 60)).first).toBe(0);
      expect((await seek(log, 120)).first).toBe(2);
      expect((await seek(log, 151)).first).toBe(2);
      expect(await seek(log, 201)).toEqual({ first: undefined, nextOffset: 4 });
    }
  });

  test('is the lowest offset from the start on whose time is at or after the one asked, in any history', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 3 }), fc.boolean()), {
          minLength: 1,
          maxLength: 14,
        }),
        fc.integer({ min: 0, max: 61 }),
        fc.nat({ max: 4 }),
        async (commits, timestampMs, startAt) => {
          const times = commits.flatMap(([batch]) => batch);
          const start = Math.min(startAt, times.length);
          const log = createLog();
          const segment = await log.make(ALL);
          for (const [batch, spill] of commits) {
            await log.append({ segment, batches: [at(...batch)] });
            if (spill) await log.spill(segment);
          }
          if (start > 0) {
            if ((await log.head(segment)).entries.length > 0) await log.spill(segment);
            await archive(log, segment, { next: start, state: 'dropped' });
          }
          const expected = times.findIndex((time, offset) => offset >= start && time >= timestampMs);
          expect((await seek(log, timestampMs)).first).toBe(expected === -1 ? undefined : expected);
        },
      ),
    );
  });

  test('looks at few pages of a long history', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (let commit = 0; commit < 200; commit += 1) {
      await log.append({ segment, batches: [at(commit * 10, commit * 10 + 5)] });
      await log.spill(segment);
    }
    let queries = 0;
    const { consumer } = log.instance({
      table: { ...log.table, query: (...query) => ((queries += 1), log.table.query(...query)) },
    });
    const bounds = { messagesMax: 1, bytesMax: 1_000, waitMs: 0 };
    const page = await consumer.readSegment(log.topic, { segment, from: { timestampMs: 1_234 }, ...bounds }, calm());
    expect(page.nextOffset).toBe(248);
    // Eight halvings of 400 offsets; then the page for its entries, for their messages, and for the answer.
    expect(queries).toBeLessThan(14);
  });
});

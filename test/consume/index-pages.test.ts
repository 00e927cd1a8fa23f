import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createIndexPages } from '../../src/consume/index-pages.ts';
import { calm, createLog, EVERYTHING } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };

describe('index pages', () => {
  test('what is kept answers as the table does, however little that is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 40 }),
        fc.array(fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 200 }), fc.boolean()), { minLength: 1, maxLength: 60, size: 'max' }),
        fc.integer({ min: 1, max: 12 }),
        async (sizes, asked, pagesMax) => {
          const log = createLog();
          const segments = [await log.make({ lo: 0, hi: 9 }), await log.make({ lo: 10, hi: 65_535 })];
          for (const size of sizes) {
            for (const segment of segments) {
              await log.write(segment, ...Array.from({ length: size }, () => 'x'));
              await log.spill(segment);
            }
          }
          const heads = await Promise.all(segments.map((segment) => log.head(segment)));
          const pages = createIndexPages(log.table, pagesMax);
          const starts = sizes.map((_, index) => sizes.slice(0, index).reduce((a, b) => a + b, 0));
          for (const [which, near, byStart] of asked) {
            const head = heads[which];
            if (head === undefined) throw new Error('there are two');
            const offset = near % head.tail;
            const first = starts.findLast((start) => start <= offset) ?? -1;
            const found = byStart ? (await pages.from(head, first, calm()))[0] : await pages.at(head, offset, calm());
            expect(found?.first).toBe(first);
            expect(found?.entries.map((entry) => entry.offset)).toEqual([first]);
            expect(await pages.from(head, first + 1, calm()).then((more) => more[0]?.first)).toBe(starts.find((start) => start > first));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('what was used longest ago is not kept beyond the bound', async () => {
    const log = createLog();
    const segments = [];
    for (let n = 0; n < 4; n += 1) {
      const segment = await log.make({ lo: n, hi: n });
      await log.write(segment, 'a');
      await log.spill(segment);
      segments.push(await log.head(segment));
    }
    let queries = 0;
    const pages = createIndexPages({ ...log.table, query: (...query) => ((queries += 1), log.table.query(...query)) }, 3);
    const asked: number[] = [];
    for (const n of [0, 1, 2, 0, 2, 3, 2, 3, 0]) {
      queries = 0;
      const head = segments[n];
      if (head !== undefined) await pages.from(head, 0, calm());
      asked.push(queries);
    }
    expect(asked).toEqual([1, 1, 1, 0, 0, 1, 0, 0, 0]);
    queries = 0;
    for (const head of segments) await pages.from(head, 0, calm());
    expect(queries).toBeGreaterThan(0);
  });

  test('a reader who goes on, and one who begins again, ask the table little', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (let commit = 0; commit < 64; commit += 1) {
      await log.write(segment, 'a');
      await log.spill(segment);
    }
    let queries = 0;
    const { consumer } = log.instance({ table: { ...log.table, query: (...query) => ((queries += 1), log.table.query(...query)) } });
    for (let round = 0; round < 2; round += 1) {
      for (let offset = 0; offset < 64; offset += 1) {
        const page = await consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING, messagesMax: 1 }, calm());
        expect(page.nextOffset).toBe(offset + 1);
      }
    }
    expect(queries).toBe(64);
    const { consumer: another } = log.instance({
      table: { ...log.table, query: (...query) => ((queries += 1), log.table.query(...query)) },
    });
    queries = 0;
    for (let offset = 0; offset < 64; offset += 4) {
      await another.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING, messagesMax: 4 }, calm());
    }
    expect(queries).toBeLessThanOrEqual(6);
  });
});

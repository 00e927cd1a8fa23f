import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  beginRecord,
  committedMsOf,
  endsBefore,
  isDue,
  mayBeDue,
  plannedRecord,
  type RecordPlan,
  withEntry,
} from '../../src/archive/plan-record.ts';
import { FILE_MESSAGES_MAX } from '../../src/model/archive-limits.ts';
import type { Archive } from '../../src/model/archive.ts';
import { dateOf } from '../../src/model/archived-file.ts';
import { type Entry, entryCount, type Head, type Run } from '../../src/model/head.ts';
import { type Minute, type ObjectId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { formatCommitId } from '../../src/protocol/commit-id.ts';
import { nothingArchived } from '../../src/protocol/archive.ts';

const TOPIC = 'tabcdefghijklmno' as TopicId;
const EMPTY = nothingArchived(TOPIC, segmentId(0));
const OBJECT = { minute: '00000000' as Minute, id: 'o000000000000000' as ObjectId };
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 30, 23, 59);
const BOUNDS = { fileBytesMax: 1_000, fileAgeMs: 3_600_000 };

function entry(
  offset: number,
  options: { readonly runs?: readonly Run[]; readonly timeMs?: number; readonly counter?: number; readonly highest?: number } = {},
): Entry {
  const { runs = [{ start: 0, bytes: 100, count: 1 }], timeMs = START_MS, counter = 0, highest = 0 } = options;
  return { cid: formatCommitId(timeMs, 'instance', counter), offset, object: OBJECT, runs, highestTimestampMs: highest };
}

const bytesOf = ({ runs }: Entry): number => runs.reduce((sum, { bytes }) => sum + bytes, 0);

const arbitraryRuns = (minLength: number) =>
  fc.array(fc.record({ start: fc.constant(0), bytes: fc.integer({ min: 1, max: 500 }), count: fc.integer({ min: 1, max: 6 }) }), {
    minLength,
    maxLength: 3,
  });
/** A segment's entries from offset 0 on, by brokers whose clocks differ by minutes. Those without runs have no messages. */
const entriesOf = (someRuns: ReturnType<typeof arbitraryRuns>) =>
  fc
    .array(fc.record({ runs: someRuns, lateMs: fc.integer({ min: -120_000, max: 120_000 }), highest: fc.nat(1_000) }), {
      minLength: 1,
      maxLength: 12,
    })
    .map((parts) => {
      let offset = 0;
      return parts.map(({ runs, lateMs, highest }, index) => {
        const one = entry(offset, { runs, timeMs: START_MS + index * 10_000 + lateMs, counter: index, highest });
        offset += entryCount(one);
        return one;
      });
    });
const arbitraryEntries = entriesOf(arbitraryRuns(1));

/** The archive behind the record of a plan. */
const after = (archive: Archive, { next, guard, highestTimestampMs, bytes }: RecordPlan): Archive => ({
  ...archive,
  through: next,
  guard,
  highestTimestampMs,
  bytes,
});

/** Plans records up to each of these offsets. */
function planned(entries: readonly Entry[], ends: readonly number[]): RecordPlan[] {
  let archive: Archive = EMPTY;
  return ends.map((end) => {
    let plan = beginRecord(archive);
    for (const one of entries) {
      const isBelow = one.offset < plan.first && one.offset + entryCount(one) <= plan.first;
      if (isBelow || one.offset >= end) continue;
      plan = withEntry(plan, one, Math.min(end, one.offset + entryCount(one)));
    }
    archive = after(archive, plan);
    return plan;
  });
}

describe('records', () => {
  test('that are cut anywhere add up to the same', () => {
    const cut = fc.tuple(arbitraryEntries, fc.array(fc.nat(100), { maxLength: 5 }));
    fc.assert(
      fc.property(cut, ([entries, cuts]) => {
        const tail = entries.reduce((sum, one) => sum + entryCount(one), 0);
        const ends = [...new Set([...cuts.filter((at) => at > 0 && at < tail), tail])].toSorted((a, b) => a - b);
        const plans = planned(entries, ends);
        const whole = planned(entries, [tail])[0];
        expect(plans.at(-1)).toMatchObject({
          next: tail,
          guard: whole?.guard,
          bytes: whole?.bytes,
          highestTimestampMs: whole?.highestTimestampMs,
        });
        expect(whole?.bytes).toBe(entries.reduce((sum, one) => sum + bytesOf(one), 0));
        for (const [index, { first, next, bytes, sinceMs, guard }] of plans.entries()) {
          expect([first, next]).toEqual([ends[index - 1] ?? 0, ends[index]]);
          expect(bytes).toBeGreaterThanOrEqual(plans[index - 1]?.bytes ?? 0);
          // The time of committing never falls, from record to record either.
          const before = plans[index - 1]?.guard ?? '';
          expect(sinceMs).toBeGreaterThanOrEqual(committedMsOf(before));
          expect(committedMsOf(guard)).toBeGreaterThanOrEqual(sinceMs ?? Infinity);
        }
      }),
    );
  });

  test('have in their guard the ids of all entries that begin in them or before', () => {
    fc.assert(
      fc.property(entriesOf(arbitraryRuns(0)), fc.nat(100), fc.nat(100), (entries, at, cut) => {
        const tail = entries.reduce((sum, one) => sum + entryCount(one), 0);
        fc.pre(tail > 0);
        const end = 1 + (at % tail);
        const begun = entries.filter(({ offset }) => offset < end).map(({ cid }) => cid);
        const ends = [1 + (cut % end), end];
        expect(planned(entries, ends).at(-1)?.guard).toBe(begun.toSorted().at(-1));
      }),
    );
  });

  test('count of a run that is cut its share, rounded down', () => {
    const runs = [
      { start: 0, bytes: 10, count: 3 },
      { start: 10, bytes: 7, count: 2 },
    ];
    expect(planned([entry(0, { runs })], [1, 2, 3, 4, 5]).map(({ bytes }) => bytes)).toEqual([3, 6, 10, 13, 17]);
  });
});

describe('a file', () => {
  test('has what fits: no more bytes, messages, or days; but one entry whatever its size', () => {
    fc.assert(
      fc.property(arbitraryEntries, fc.integer({ min: 1, max: 3_000 }), (entries, fileBytesMax) => {
        let archive: Archive = EMPTY;
        let plan = beginRecord(archive);
        let entriesInside = 0;
        const records: RecordPlan[] = [];
        const close = (): void => {
          const one = plannedRecord(plan, { columns: [], nowMs: 0 });
          expect(plan.bytes - archive.bytes <= fileBytesMax || entriesInside === 1).toBe(true);
          expect([one.first, one.last, one.date, one.state]).toEqual([plan.first, plan.next - 1, dateOf(plan.sinceMs ?? NaN), 'planned']);
          // All are of one day: the last one by the guard.
          expect(dateOf(committedMsOf(one.guard))).toBe(one.date);
          records.push(plan);
          archive = after(archive, plan);
          plan = beginRecord(archive);
          entriesInside = 0;
        };
        for (const each of entries) {
          if (endsBefore(plan, each, { archive, fileBytesMax })) close();
          plan = withEntry(plan, each);
          entriesInside += 1;
        }
        close();
        expect(records.at(-1)?.next).toBe(entries.reduce((sum, one) => sum + entryCount(one), 0));
      }),
    );
  });

  test.each([
    ['bytes', { runs: [{ start: 0, bytes: 901, count: 1 }] }, true],
    ['bytes that just fit', { runs: [{ start: 0, bytes: 900, count: 1 }] }, false],
    ['messages', { runs: [{ start: 0, bytes: 1, count: FILE_MESSAGES_MAX }] }, true],
    ['messages that just fit', { runs: [{ start: 0, bytes: 1, count: FILE_MESSAGES_MAX - 1 }] }, false],
    ['another day', { timeMs: START_MS + 60_000 }, true],
    ['the same day', { timeMs: START_MS + 59_999 }, false],
    ['another day by a clock that is behind', { timeMs: START_MS - DAY_MS }, false],
  ])('ends before %s', (_, options, ends) => {
    expect(endsBefore(withEntry(beginRecord(EMPTY), entry(0)), entry(1, options), { archive: EMPTY, ...BOUNDS })).toBe(ends);
  });

  const head = (rest: Partial<Head>): Head =>
    ({ state: 'open', tail: 1, entries: [], guard: entry(0).cid, load: { bytes: 0 }, ...rest }) as Head;
  const plan = withEntry(beginRecord(EMPTY), entry(0));

  test.each([
    ['its first message is old', {}, START_MS + BOUNDS.fileAgeMs, true],
    ['its first message is younger', {}, START_MS + BOUNDS.fileAgeMs - 1, false],
    ['its first message is of a clock ahead', {}, START_MS - DAY_MS, false],
    ['the segment is sealed, and this is its end', { state: 'sealed', tail: 1 }, START_MS, true],
    ['the segment is sealed, and goes on', { state: 'sealed', tail: 2 }, START_MS, false],
  ] as const)('is due where %s: %o at %i: %s', (_, rest, nowMs, due) => {
    expect(isDue(plan, { head: head(rest), archive: EMPTY, nowMs }, BOUNDS)).toBe(due);
  });

  test('is due once it is full, and without messages never', () => {
    const full = withEntry(beginRecord(EMPTY), entry(0, { runs: [{ start: 0, bytes: 1_000, count: 1 }] }));
    expect(isDue(full, { head: head({}), archive: EMPTY, nowMs: START_MS }, BOUNDS)).toBe(true);
    expect(isDue(beginRecord(EMPTY), { head: head({ state: 'sealed' }), archive: EMPTY, nowMs: START_MS * 2 }, BOUNDS)).toBe(false);
  });

  test.each([
    ['nothing', {}, START_MS, false],
    ['its age', {}, START_MS + BOUNDS.fileAgeMs, true],
    ['its bytes', { load: { bytes: 1_000 } }, START_MS, true],
    ['its messages', { tail: FILE_MESSAGES_MAX }, START_MS, true],
    ['a seal', { state: 'sealed' }, START_MS, true],
    ['a day that ends in the head', { entries: [entry(1, { timeMs: START_MS + 60_000 })] }, START_MS, true],
    ['a day that ended in pages', { guard: entry(1, { timeMs: START_MS + 60_000 }).cid }, START_MS, true],
  ])('may be due for %s', (_, rest, nowMs, due) => {
    expect(mayBeDue({ head: head(rest as Partial<Head>), archive: EMPTY, sinceMs: START_MS, nowMs }, BOUNDS)).toBe(due);
  });

  test('that is due may be due', () => {
    fc.assert(
      fc.property(
        arbitraryEntries,
        fc.integer({ min: 0, max: 2 * DAY_MS }),
        fc.integer({ min: 1, max: 3_000 }),
        fc.boolean(),
        (entries, ageMs, fileBytesMax, sealed) => {
          const bounds = { ...BOUNDS, fileBytesMax };
          const tail = entries.reduce((sum, one) => sum + entryCount(one), 0);
          const load = { bytes: entries.reduce((sum, one) => sum + bytesOf(one), 0) };
          const whole = head({ entries, tail, load, ...(sealed ? { state: 'sealed' as const } : {}) } as unknown as Partial<Head>);
          const nowMs = START_MS + ageMs;
          let all = beginRecord(EMPTY);
          let ended = false;
          for (const each of entries) {
            ended ||= endsBefore(all, each, { archive: EMPTY, ...bounds });
            if (!ended) all = withEntry(all, each);
          }
          const due = ended || isDue(all, { head: whole, archive: EMPTY, nowMs }, bounds);
          if (due) expect(mayBeDue({ head: whole, archive: EMPTY, sinceMs: all.sinceMs ?? 0, nowMs }, bounds)).toBe(true);
        },
      ),
    );
  });
});

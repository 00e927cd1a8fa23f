import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aheadMs, checkSchedule, keptMin, scheduledMin } from '../../../src/control/scaling/schedule.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { FLOOD_AHEAD_MS_MAX, FLOOD_KEEP_MS, FLOOD_MARGIN_MS, FLOODS_MAX } from '../../../src/model/scaling-limits.ts';
import type { ExpectedFlood } from '../../../src/model/scaling.ts';

const MORNING: ExpectedFlood = { cron: '30 8 * * MON-FRI', durationSeconds: 3_600, minSegments: 32, timeZone: 'Europe/Berlin' };
const TICK = { segments: 32, tickMs: 5_000 };
const at = (time: string): number => Date.parse(time);
const minAt = (schedule: readonly ExpectedFlood[], time: string, segments = 32): number =>
  scheduledMin(schedule, { ...TICK, segments, nowMs: at(time) }).minSegments;

test('a flood holds from its beginning to its end, by the clocks of its time zone', () => {
  // A Monday in winter: 8:30 in Berlin is 7:30 UTC.
  expect(minAt([MORNING], '2026-01-05T07:30:00Z')).toBe(32);
  expect(minAt([MORNING], '2026-01-05T08:29:59.999Z')).toBe(32);
  expect(minAt([MORNING], '2026-01-05T08:30:00Z')).toBe(0);
  // In summer it is 6:30 UTC; without a zone it is 8:30.
  expect(minAt([MORNING], '2026-07-06T06:30:00Z')).toBe(32);
  expect(minAt([MORNING], '2026-07-06T07:30:00Z')).toBe(0);
  const { timeZone: _, ...utc } = MORNING;
  expect(minAt([utc], '2026-07-06T08:30:00Z')).toBe(32);
  expect(minAt([utc], '2026-07-06T07:30:00Z')).toBe(0);
  // No Saturday.
  expect(minAt([MORNING], '2026-01-03T07:45:00Z')).toBe(0);
  expect(scheduledMin([MORNING], { ...TICK, nowMs: at('2026-01-05T08:00:00Z') }).flood).toEqual({
    cron: MORNING.cron,
    beginsMs: at('2026-01-05T07:30:00Z'),
    endsMs: at('2026-01-05T08:30:00Z'),
  });
});

test('an hour that the clocks skip begins a flood when they have skipped it, an hour that comes twice begins one', () => {
  const night: ExpectedFlood = { cron: '30 2 * * *', durationSeconds: 600, minSegments: 8, timeZone: 'Europe/Berlin' };
  expect(minAt([night], '2027-03-28T01:00:00Z')).toBe(8);
  expect(minAt([night], '2027-03-28T01:10:00Z')).toBe(0);
  expect(minAt([night], '2027-10-31T00:30:00Z')).toBe(8);
  expect(minAt([night], '2027-10-31T01:30:00Z')).toBe(0);
  expect(minAt([night], '2027-11-01T01:30:00Z')).toBe(8);
});

test('splitting begins early enough for each doubling, and no earlier', () => {
  expect(aheadMs(MORNING, TICK)).toBe(FLOOD_MARGIN_MS + 5_000);
  expect(aheadMs(MORNING, { segments: 1, tickMs: 5_000 })).toBe(FLOOD_MARGIN_MS + 30_000);
  expect(aheadMs(MORNING, { segments: 3, tickMs: 60_000 })).toBe(FLOOD_MARGIN_MS + 300_000);
  expect(aheadMs(MORNING, { segments: 1, tickMs: 3_600_000 })).toBe(FLOOD_AHEAD_MS_MAX);
  expect(minAt([MORNING], '2026-01-05T07:28:30Z', 1)).toBe(32);
  expect(minAt([MORNING], '2026-01-05T07:28:29Z', 1)).toBe(0);
});

test('one that begins again before it has ended never ends; of several, the one that asks for most counts', () => {
  const always: ExpectedFlood = { cron: '0 * * * *', durationSeconds: 5_400, minSegments: 4 };
  const day = at('2026-01-05T00:00:00Z');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 86_399_999 }), (ms) => {
      expect(scheduledMin([always], { ...TICK, nowMs: day + ms }).minSegments).toBe(4);
      expect(scheduledMin([always, { ...always, minSegments: 9 }], { ...TICK, nowMs: day + ms }).minSegments).toBe(9);
    }),
  );
  expect(minAt([always, MORNING], '2026-01-05T07:45:00Z')).toBe(32);
  expect(minAt([always, MORNING], '2026-01-05T09:45:00Z')).toBe(4);
  expect(minAt([], '2026-01-05T09:45:00Z')).toBe(0);
});

test('an hour before a flood nothing merges any more that it will need', () => {
  const beginsMs = at('2026-01-05T07:30:00Z');
  expect(keptMin([MORNING], beginsMs - FLOOD_KEEP_MS)).toBe(32);
  expect(keptMin([MORNING], beginsMs - FLOOD_KEEP_MS - 1_000)).toBe(0);
  expect(keptMin([MORNING], beginsMs + 3_599_999)).toBe(32);
  expect(keptMin([MORNING], beginsMs + 3_600_000)).toBe(0);
});

test('a flood is found by its minutes as by looking at each of them', () => {
  const nowMs = at('2026-03-01T00:00:00Z');
  const cron = fc.tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 23 }));
  fc.assert(
    fc.property(cron, fc.integer({ min: 1, max: 300 }), fc.integer({ min: 0, max: 2_880 }), ([minute, hour], minutes, after) => {
      const flood: ExpectedFlood = { cron: `${minute} ${hour} * * *`, durationSeconds: minutes * 60, minSegments: 5 };
      const now = nowMs + after * 60_000;
      const begins = (time: number): boolean => new Date(time).getUTCMinutes() === minute && new Date(time).getUTCHours() === hour;
      // As early as one tick and the margin before it.
      const looked = Array.from({ length: minutes + 1 }, (_, n) => now + 60_000 - n * 60_000).some(begins);
      expect(scheduledMin([flood], { nowMs: now, segments: 5, tickMs: 5_000 }).minSegments).toBe(looked ? 5 : 0);
    }),
  );
});

const codeAndField = (flood: Partial<ExpectedFlood>): string => {
  try {
    checkSchedule([MORNING, { ...MORNING, ...flood }], at('2026-01-05T00:00:00Z'));
    return 'taken';
  } catch (error) {
    return error instanceof KelpError && error.kind === 'invalid' ? `${error.code} ${error.field}` : String(error);
  }
};

test.each<Partial<ExpectedFlood>>([
  {},
  { cron: '*/15 0-6,22 1 JAN,FEB *' },
  { cron: '0 9 L * *' },
  { cron: '0 9 29 2 *' },
  { timeZone: 'UTC' },
  { timeZone: 'America/New_York', durationSeconds: 604_800, minSegments: 1_024 },
])('%j can be stored', (flood) => {
  expect(codeAndField(flood)).toBe('taken');
});

test.each<[Partial<ExpectedFlood>, string]>([
  ...[
    '',
    'x',
    '@daily',
    '* * * *',
    '* * * * * *',
    '61 * * * *',
    '* 24 * * *',
    '0 0 31 2 *',
    '0 9 * * ?',
    '2027-01-01T00:00:00',
    '0  9 * * *',
    ' 0 9 * * *',
    '0 9 * * FOO',
    `${'1,'.repeat(70)}1 * * * *`,
  ].map((cron): [Partial<ExpectedFlood>, string] => [{ cron }, 'cron']),
  ...['', 'Mars/Base', 'Europe', '+02:00', 'x'.repeat(200)].map((timeZone): [Partial<ExpectedFlood>, string] => [{ timeZone }, 'timeZone']),
  ...[0, -1, 1.5, Number.NaN, 604_801].map((durationSeconds): [Partial<ExpectedFlood>, string] => [{ durationSeconds }, 'durationSeconds']),
  ...[0, 1_025, 1.5].map((minSegments): [Partial<ExpectedFlood>, string] => [{ minSegments }, 'minSegments']),
])('%j is refused, with the field', (flood, member) => {
  expect(codeAndField(flood)).toBe(`invalid-schedule scaling.schedule[1].${member}`);
});

test('there are not more floods than can be looked at with each plan', () => {
  const floods = Array.from({ length: FLOODS_MAX + 1 }, () => MORNING);
  checkSchedule(floods.slice(1), 0);
  expect(() => checkSchedule(floods, 0)).toThrow(String(FLOODS_MAX));
});

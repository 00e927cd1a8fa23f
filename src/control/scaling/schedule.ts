import { Cron } from 'croner';
import { invalid } from '../../model/errors.ts';
import { SEGMENTS_OPEN_MAX } from '../../model/limits.ts';
import {
  CRON_BYTES_MAX,
  FLOOD_AHEAD_MS_MAX,
  FLOOD_KEEP_MS,
  FLOOD_MARGIN_MS,
  FLOOD_SECONDS_MAX,
  FLOODS_MAX,
} from '../../model/scaling-limits.ts';
import type { ExpectedFlood } from '../../model/scaling.ts';

/** What a schedule asks for at a moment, and the flood that asks for most. */
export type ScheduledMin = {
  readonly minSegments: number;
  readonly flood?: { readonly cron: string; readonly beginsMs: number; readonly endsMs: number };
};

type Now = {
  /** Wall clock: a flood comes by the calendar. */
  readonly nowMs: number;
  readonly segments: number;
  /** How often the topic is looked at. */
  readonly tickMs: number;
};

/**
 * How many segments the topic is to have now: the most that any flood asks for that has begun, or begins before it could be
 * split as far; until it ends. Afterwards the segments merge as quiet ones do.
 */
export function scheduledMin(schedule: readonly ExpectedFlood[], now: Now): ScheduledMin {
  const floods = schedule.flatMap((flood): ScheduledMin[] => {
    const beginsMs = beginOf(flood, now.nowMs, aheadMs(flood, now));
    if (beginsMs === undefined) return [];
    return [{ minSegments: flood.minSegments, flood: { cron: flood.cron, beginsMs, endsMs: beginsMs + flood.durationSeconds * 1_000 } }];
  });
  return floods.reduce((most, one) => (one.minSegments > most.minSegments ? one : most), { minSegments: 0 });
}

/** How many the topic is to keep, once it has them: a flood that is due soon would only split again what merged before it. */
export function keptMin(schedule: readonly ExpectedFlood[], nowMs: number): number {
  const soon = schedule.filter((flood) => beginOf(flood, nowMs, FLOOD_KEEP_MS) !== undefined);
  return soon.reduce((most, { minSegments }) => Math.max(most, minSegments), 0);
}

/** So long before a flood its splitting begins: each look doubles the segments, one may be missed, and the last children are to have been found. */
export function aheadMs(flood: ExpectedFlood, { segments, tickMs }: Omit<Now, 'nowMs'>): number {
  const doublings = Math.max(0, Math.ceil(Math.log2(flood.minSegments / Math.max(1, segments))));
  return Math.min(FLOOD_AHEAD_MS_MAX, (doublings + 1) * tickMs + FLOOD_MARGIN_MS);
}

/** When the first flood that is not over begins or began; undefined: not that soon. */
function beginOf(flood: ExpectedFlood, nowMs: number, soonMs: number): number | undefined {
  const notOverMs = nowMs - flood.durationSeconds * 1_000;
  const beginsMs = cronOf(flood).nextRun(new Date(notOverMs))?.getTime();
  return beginsMs !== undefined && beginsMs <= nowMs + soonMs ? beginsMs : undefined;
}

/**
 * A topic's schedule as it may be stored. Errors `invalid-schedule`, with the field: a pattern that is not five fields, has `?`
 * (which would mean whenever it is read) or never comes; a time zone that this runtime doesn't know; a number out of bounds.
 */
export function checkSchedule(schedule: readonly ExpectedFlood[], nowMs: number): void {
  if (schedule.length > FLOODS_MAX) throw invalid('invalid-schedule', 'scaling.schedule', `at most ${FLOODS_MAX} floods`);
  for (const [index, flood] of schedule.entries()) checkFlood(flood, `scaling.schedule[${index}]`, nowMs);
}

function checkFlood(flood: ExpectedFlood, field: string, nowMs: number): void {
  const { durationSeconds, minSegments, timeZone } = flood;
  const refuse = (member: string, message: string): never => {
    throw invalid('invalid-schedule', `${field}.${member}`, message);
  };
  if (!isInteger(durationSeconds, FLOOD_SECONDS_MAX)) refuse('durationSeconds', `an integer from 1 to ${FLOOD_SECONDS_MAX}`);
  if (!isInteger(minSegments, SEGMENTS_OPEN_MAX)) refuse('minSegments', `an integer from 1 to ${SEGMENTS_OPEN_MAX}`);
  if (timeZone !== undefined && !isTimeZone(timeZone)) refuse('timeZone', 'the name of a time zone, such as Europe/Berlin');
  if (!isPattern(flood)) refuse('cron', 'minute, hour, day of the month, month and day of the week, such as 30 8 * * MON-FRI');
  if (nextOf(flood, nowMs) === undefined) refuse('cron', 'a time that comes');
}

const isInteger = (value: number, max: number): boolean => Number.isInteger(value) && value >= 1 && value <= max;

/** The parser also takes a single date, and names for patterns: both are no five fields. */
function isPattern(flood: ExpectedFlood): boolean {
  const { cron } = flood;
  if (cron.length > CRON_BYTES_MAX || !/^[\dA-Za-z*,/#-]+( [\dA-Za-z*,/#-]+){4}$/.test(cron)) return false;
  try {
    cronOf(flood);
    return true;
  } catch {
    return false;
  }
}

function isTimeZone(name: string): boolean {
  // An offset is no zone: it knows no summer.
  if (name.length > CRON_BYTES_MAX || !/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Undefined: it never comes, or the parser doesn't take it. */
function nextOf(flood: ExpectedFlood, nowMs: number): Date | undefined {
  try {
    return cronOf(flood).nextRun(new Date(nowMs)) ?? undefined;
  } catch {
    return undefined;
  }
}

function cronOf({ cron, timeZone }: ExpectedFlood): Cron {
  return new Cron(cron, { timezone: timeZone ?? 'UTC', mode: '5-part', paused: true });
}

import { LEASE_MS } from '../../src/model/limits.ts';
import type { Aim } from './aim.ts';
import type { Row } from './row.ts';

/** Of the slowest round: an aim that is met on average is not met. */
const TIMES_MAX = [
  { case: 'i report', what: 'next ack after kill -9 of a broker, with a report', maxMs: 1_000 },
  { case: 'i alone', what: 'the same without a report', maxMs: LEASE_MS + 1_000 },
  { case: 'j', what: 'next assignment after kill -9 of the leader', maxMs: LEASE_MS + 500 },
] as const;
const IDLE_OPERATIONS_MAX = 60;

/** What three brokers together are held against, where it was measured. */
export function judgeFleet(rows: readonly Row[]): Aim[] {
  const times = TIMES_MAX.flatMap(({ case: name, what, maxMs }) =>
    rows.flatMap(({ case: measured, p50Ms, longestMs }): Aim[] => {
      if (measured !== name || longestMs === undefined) return [];
      const figure = `${ms(longestMs)} at most, ${ms(p50Ms)} at the median`;
      return [{ kind: 'aim', case: name, aim: `${what}: at most ${ms(maxMs)}`, figure, met: longestMs <= maxMs }];
    }),
  );
  return [...judgeForward(rows), ...times, ...rows.flatMap(judgeRolling), ...rows.flatMap(judgeIdle)];
}

/** There is no aim but to know it: what a hop costs is the reason why answers name the brokers. */
function judgeForward(rows: readonly Row[]): Aim[] {
  const direct = rows.filter((row) => row.case === 'h direct').map(({ p50Ms }) => p50Ms);
  const forwarded = rows.find((row) => row.case === 'h forwarded')?.p50Ms;
  if (direct.length === 0 || forwarded === undefined) return [];
  const mean = direct.reduce((sum, value) => sum + value, 0) / direct.length;
  const figure = `${(forwarded / mean).toFixed(2)} × direct: ${exact(forwarded)} against ${exact(mean)}, ${exact(forwarded - mean)} more`;
  return [{ kind: 'aim', case: 'h', aim: 'none: what handing on costs at p50', figure, met: true }];
}

function judgeRolling({ case: name, requests, errors, longestMs = Infinity, firstError }: Row): Aim[] {
  if (name !== 'k') return [];
  const figure = `${errors} of ${requests + errors}, the longest wait ${ms(longestMs)}${firstError === undefined ? '' : ` (${firstError})`}`;
  return [{ kind: 'aim', case: name, aim: 'no publish fails in a rolling restart', figure, met: errors === 0 }];
}

function judgeIdle({ case: name, idleTableOperationsPerMinute: most }: Row): Aim[] {
  if (name !== 'l' || most === undefined) return [];
  const aim = `at most ${IDLE_OPERATIONS_MAX} table operations a minute of an idle broker`;
  return [{ kind: 'aim', case: name, aim, figure: `${most.toFixed(0)} of the busiest`, met: most <= IDLE_OPERATIONS_MAX }];
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}

function exact(value: number): string {
  return `${value.toFixed(2)} ms`;
}

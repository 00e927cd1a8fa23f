import { expect, test } from 'vitest';
import { judgeFleet } from '../../infra/bench/fleet-aims.ts';
import { formatAims, formatTable } from '../../infra/bench/report.ts';
import { type Row, rowOfIdle, rowOfTimes, toRow } from '../../infra/bench/row.ts';
import { LEASE_MS } from '../../src/model/limits.ts';

const result = { requests: 100, errors: 0, bytes: 0, seconds: 2, p50Ms: 3, p99Ms: 9, cpuSeconds: 0 };
const rowOf = (name: string, more: Partial<Row>): Row => {
  const names = { kind: 'kelp', case: name, label: 'any', client: 'lean' } as const;
  return { ...toRow({ names, result, payload: { messages: 100, bytes: 0 }, costs: { cpuSeconds: {} } }), ...more };
};
const times = (name: string, ...ms: number[]): Row => rowOfTimes({ case: name, label: 'any' }, ms);
const met = (...rows: Row[]): boolean[] => judgeFleet(rows).map((aim) => aim.met);

test.each([
  ['i report', 1_000],
  ['i alone', LEASE_MS + 1_000],
  ['j', LEASE_MS + 500],
])('%s is met up to %d ms, by the slowest round', (name, maxMs) => {
  expect(met(times(name, 1, 2, maxMs))).toEqual([true]);
  expect(met(times(name, 1, 2, maxMs + 1))).toEqual([false]);
});

test('of rounds the median and the slowest are told', () => {
  expect(times('j', 30, 10, 20)).toMatchObject({ requests: 3, p50Ms: 20, longestMs: 30, seconds: 0.06 });
});

test('one failed publish of a rolling restart is too many', () => {
  expect(met(rowOf('k', { longestMs: 70 }))).toEqual([true]);
  expect(met(rowOf('k', { longestMs: 70, errors: 1, firstError: 'refused' }))).toEqual([false]);
  expect(formatAims(judgeFleet([rowOf('k', { longestMs: 70 })]))).toContain('0 of 100, the longest wait 70 ms');
});

test('of idle brokers the busiest counts', () => {
  const idle = (...perMinute: number[]): Row => rowOfIdle({ case: 'l', label: 'any' }, { perMinute, seconds: 60 });
  expect(met(idle(10, 60, 20))).toEqual([true]);
  expect(met(idle(10, 61, 20))).toEqual([false]);
});

test('a hop is held against the mean of both runs without it', () => {
  const rows = [rowOf('h direct', { p50Ms: 2 }), rowOf('h forwarded', { p50Ms: 4.5 }), rowOf('h direct', { p50Ms: 4 })];
  expect(judgeFleet(rows)).toMatchObject([{ figure: '1.50 × direct: 4.50 ms against 3.00 ms, 1.50 ms more' }]);
  expect(judgeFleet(rows.slice(0, 1))).toEqual([]);
});

test('the table has what only these cases have', () => {
  const [heading = '', line = ''] = formatTable([times('j', 30, 10, 20)]).split('\n');
  expect(heading).toContain('slowest ms');
  expect(line).toMatch(/ 30 +–/);
});

import { expect, test } from 'vitest';
import { judge } from '../../infra/bench/aims.ts';
import type { LoadResult } from '../../infra/bench/load.ts';
import { formatAims, formatTable } from '../../infra/bench/report.ts';
import { type Reference, type Row, toRow, withReference } from '../../infra/bench/row.ts';

const result: LoadResult = { requests: 100, errors: 0, bytes: 200_000_000, seconds: 2, p50Ms: 3, p99Ms: 9, cpuSeconds: 0.25 };
const names = { kind: 'kelp', case: 'b', label: 'record batches', client: 'native' } as const;
const costs = { cpuSeconds: { broker: 1.5 }, brokerPeakBytes: 200_000_000, operations: { puts: 50, tableOperations: 120 } };
const row: Row = toRow({ names, result, payload: { messages: 100_000, bytes: 100 * 1_048_576 }, costs });

const rowOf = (name: string, more: Partial<Row>): Row => ({ ...row, case: name, ...more });
const reference = (ratio: number): Reference => ({ what: 'raw', unit: 'MiB', perSecond: 100, ratio });
const met = (rows: readonly Row[], name: string): boolean[] =>
  judge(rows)
    .filter((aim) => aim.case === name)
    .map((aim) => aim.met);

test('rates count payload, whatever the load generator sent', () => {
  expect(row).toMatchObject({ messagesPerSecond: 50_000, mebibytesPerSecond: 50, cpuSeconds: { load: 0.25, broker: 1.5 } });
  expect(row).toMatchObject({ putsPerThousand: 0.5, tableOperationsPerThousand: 1.2 });
});

test('a row is held against the mean of what was measured beside it', () => {
  expect(withReference(row, { what: 'raw PUT', unit: 'MiB' }, [90, 110]).reference).toEqual({
    what: 'raw PUT',
    unit: 'MiB',
    perSecond: 100,
    ratio: 0.5,
  });
  expect(withReference(row, { what: 'one segment', unit: 'messages' }, [40_000]).reference?.ratio).toBe(1.25);
});

test.each([
  ['b', 0.75],
  ['a', 0.45],
  ['g batches', 1.5],
  ['g json', 0.6],
  ['e', 0.7],
  ['f json 16', 0.8],
  ['f batches 16', 0.8],
  ['q', 0.95],
  ['s', 0.95],
  ['s uploads', 0.95],
  ['u', 0.7],
  ['u json', 0.7],
  ['u flights', 0.7],
  ['u flights json', 0.7],
])('the ratio of %s is met from %d', (name, ratioMin) => {
  expect(met([rowOf(name, { reference: reference(ratioMin) })], name)).toEqual([true]);
  expect(met([rowOf(name, { reference: reference(ratioMin - 0.01) })], name)).toEqual([false]);
});

test('of several readers the best one counts', () => {
  expect(met([rowOf('e', { reference: reference(0.2) }), rowOf('e', { reference: reference(0.9) })], 'e')).toEqual([true]);
});

test('singles are met from 5,000 a second', () => {
  expect(met([rowOf('c', { messagesPerSecond: 5_000 })], 'c')).toEqual([true]);
  expect(met([rowOf('c', { messagesPerSecond: 4_999 })], 'c')).toEqual([false]);
});

test('latency is held against a raw PUT and a raw update', () => {
  const raw = [rowOf('d put', { p50Ms: 2 }), rowOf('d update', { p50Ms: 1 })];
  expect(met([...raw, rowOf('d', { p50Ms: 4.5, endToEndP50Ms: 9.5 })], 'd')).toEqual([true, true]);
  expect(met([...raw, rowOf('d', { p50Ms: 4.6, endToEndP50Ms: 9.7 })], 'd')).toEqual([false, false]);
  expect(met([rowOf('d', { p50Ms: 1 })], 'd')).toEqual([]);
});

test('memory is the highest of all rows, in megabytes', () => {
  expect(met([row, rowOf('c', { brokerPeakBytes: 300_000_000 })], 'all')).toEqual([true]);
  expect(met([row, rowOf('c', { brokerPeakBytes: 300_000_001 })], 'all')).toEqual([false]);
});

test('what passes by reference may cost the broker 64 MB more than it has idle', () => {
  expect(met([rowOf('r 1 GiB', { brokerMoreBytes: 64_000_000 })], 'r 1 GiB')).toEqual([true]);
  expect(met([rowOf('r 1 GiB', { brokerMoreBytes: 64_000_001 })], 'r 1 GiB')).toEqual([false]);
});

test('an archiver is held against 100 MiB of messages for each second of its own, and 512 MB', () => {
  const archiving = (cpu: number, loadPeakBytes: number): Row =>
    rowOf('t', { client: 'archiver', seconds: 8, mebibytesPerSecond: 64, cpuSeconds: { load: cpu, weed: 9 }, loadPeakBytes });
  expect(met([archiving(5.12, 512_000_000)], 't')).toEqual([true, true]);
  expect(met([archiving(5.13, 512_000_001)], 't')).toEqual([false, false]);
});

test('files are told as parts of what batches and compressed lines take', () => {
  const files = { count: 2, bytes: 60, batchBytes: 80, ndjsonGzBytes: 100 };
  const lines = formatTable([{ ...row, client: 'archiver', seconds: 2, cpuSeconds: { load: 4 }, files }]).split('\n');
  const [headings = [], cells = []] = lines.map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
  const cell = (heading: string): string | undefined => cells[headings.indexOf(heading)];
  expect([cell('MiB a CPU s'), cell('of batches'), cell('of NDJSON.gz')]).toEqual(['25.0', '0.75', '0.60']);
});

test('nothing is judged that was not run', () => {
  const { brokerPeakBytes, ...without } = row;
  expect(brokerPeakBytes).toBeDefined();
  expect(judge([without])).toEqual([]);
});

test('the table has a line for each result, and a dash for what nobody knows', () => {
  const { broker: _, ...cpuSeconds } = row.cpuSeconds;
  const table = formatTable([
    withReference(row, { what: 'raw PUT', unit: 'MiB' }, [100]),
    { ...row, kind: 'beside' },
    { ...row, kind: 'sweep' },
    { ...row, case: 'c', cpuSeconds, errors: 3 },
  ]);
  const cells = table.split('\n').map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
  expect(cells[0]?.slice(0, 7)).toEqual(['case', 'what', 'by', 'per s', 'MiB/s', 'ratio', 'to']);
  expect(cells[1]?.slice(0, 7)).toEqual(['b', 'record batches', 'native', '50,000', '50.0', '0.50', '100.0 MiB/s raw PUT']);
  expect(cells[2]?.at(11)).toBe('–');
  // 1.5 s of the broker's for 100 MiB.
  expect(cells[1]?.[cells[0]?.indexOf('broker s/GiB') ?? -1]).toBe('15.36');
  expect(cells[2]?.at(-1)).toBe('3');
  expect(cells).toHaveLength(3);
});

test('aims say what was met', () => {
  const text = formatAims(judge([rowOf('b', { reference: reference(0.8) }), rowOf('a', { reference: reference(0.4) })]));
  expect(text).toMatch(/^met {6}b +at least 0\.75 of raw PUT +0\.80$/m);
  expect(text).toMatch(/^NOT MET {2}a +at least 0\.45 of raw PUT +0\.40$/m);
});

test('a function’s start is held against 100 ms, and a first publish against a warm one', () => {
  const starts = (importMs: number, firstMs: number): Row[] => [
    rowOf('o read import', { p50Ms: importMs, p99Ms: 900 }),
    rowOf('o broker first', { p50Ms: firstMs }),
    rowOf('o broker warm', { p50Ms: 10 }),
  ];
  expect([met(starts(100, 310), 'o read import'), met(starts(100, 310), 'o broker first')]).toEqual([[true], [true]]);
  expect([met(starts(101, 311), 'o read import'), met(starts(101, 311), 'o broker first')]).toEqual([[false], [false]]);
});

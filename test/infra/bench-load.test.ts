import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runLoop } from '../../infra/bench/lean-loop.ts';
import { createLoader, type Load } from '../../infra/bench/load.ts';
import { type Bodies, flightsBatches, flightsJson, randomBatches, randomJson, randomSingles } from '../../infra/bench/payloads.ts';
import { percentile } from '../../infra/bench/percentile.ts';
import { groupCpuSeconds, parsePeakBytes, parseStat, peakMemoryBytes } from '../../infra/bench/process-usage.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import { partitionOf } from '../../src/model/partition.ts';

describe('bodies', () => {
  let dir = '';
  beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), 'kelp-bodies-'))));
  afterAll(() => rmSync(dir, { recursive: true }));
  const read = ({ files }: Bodies): Buffer[] => files.map((file) => readFileSync(file));

  test('JSON of random bytes', () => {
    const bodies = randomJson(dir);
    const [first, second] = read(bodies);
    const { messages } = JSON.parse(String(first)) as { messages: { key: string; bytes: string }[] };
    expect(messages).toHaveLength(bodies.messages);
    expect(messages.reduce((sum, { bytes }) => sum + Buffer.from(bytes, 'base64').length, 0)).toBe(bodies.valueBytes);
    expect(new Set(messages.map(({ key }) => key)).size).toBe(bodies.messages);
    expect(first).not.toEqual(second);
  });

  test('record batches have the keys of one segment each', async () => {
    const segments = Array.from({ length: 16 }, (_, at) => ({ lo: at * 4_096, hi: at * 4_096 + 4_095 }));
    const bodies = await randomBatches(dir, segments);
    const batches = await decodeAll(read(bodies)[0]!);
    expect(batches.flat()).toHaveLength(bodies.messages);
    expect(batches.flat().reduce((sum, { value }) => sum + (value?.length ?? 0), 0)).toBe(bodies.valueBytes);
    const homes = batches.map((batch) => new Set(batch.map(({ key }) => partitionOf(key) >> 12)));
    expect(homes.map(({ size }) => size)).toEqual(Array.from({ length: 16 }, () => 1));
  });

  test('flights are the same as JSON and as compressed batches', async () => {
    const [json, batches] = [await flightsJson(dir), await flightsBatches(dir, [{ lo: 0, hi: 65_535 }])];
    const { messages } = JSON.parse(String(read(json)[1])) as { messages: { key: string; value: object }[] };
    const records = (await decodeAll(read(batches)[1]!)).flat();
    expect(records.map(({ key, value }) => ({ key: String(key), value: JSON.parse(String(value)) as object }))).toEqual(messages);
    expect(batches.valueBytes).toBe(json.valueBytes);
    expect(read(batches)[1]!.length).toBeLessThan(json.valueBytes / 4);
  });

  test('singles are one message each', () => {
    expect(read(randomSingles(dir)).map(({ length }) => length)).toEqual(Array.from({ length: 64 }, () => 1_024));
  });

  async function decodeAll(body: Buffer): Promise<{ key: Buffer; value: Buffer | null }[][]> {
    const compression = createCompression({ codec: 'none' });
    const batches = await Promise.all([...splitBatches(body)].map(({ bytes }) => decodeBatch(bytes, 0, compression)));
    return batches.map((batch) =>
      batch.map(({ key, value }) => ({ key: Buffer.from(key), value: value === null ? null : Buffer.from(value) })),
    );
  }
});

describe('the loop', () => {
  test('makes each request once, by as many clients as there are', async () => {
    const seen: number[] = [];
    let together = 0;
    let most = 0;
    const result = await runLoop({ clients: 4, count: 40 }, async (n) => {
      seen.push(n);
      most = Math.max(most, ++together);
      await new Promise((resolve) => setImmediate(resolve));
      together -= 1;
      return 10;
    });
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(most).toBe(4);
    expect(result).toMatchObject({ requests: 40, errors: 0, bytes: 400 });
  });

  test('counts what failed, and ends when everything does', async () => {
    const some = await runLoop({ clients: 1, count: 4 }, (n) => (n === 1 ? Promise.reject(new Error('no')) : Promise.resolve(1)));
    expect(some).toMatchObject({ requests: 3, errors: 1, firstError: 'Error: no', bytes: 3 });
    await expect(runLoop({ clients: 64, count: 10_000 }, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  });

  test('in an open loop latencies count from when a request was due', async () => {
    const due: number[] = [];
    const onDue = (n: number, dueMs: number): void => void (due[n] = dueMs);
    // One client that takes 20 ms for each: the third request is due long before it is made.
    const slow = (): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(1), 20));
    const { p99Ms } = await runLoop({ clients: 1, count: 10, perSecond: 1_000, onDue }, slow);
    expect(due.map((dueMs) => Math.round(dueMs - due[0]!))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(p99Ms).toBeGreaterThan(100);
  });
});

describe('a load program', () => {
  const load = { mode: 'get' } as Load;
  const { signal } = new AbortController();

  test('gets the load and gives the result', async () => {
    const program = `process.stdin.on('data', (d) => console.log(JSON.stringify({ requests: JSON.parse(d).mode.length, errors: 0, bytes: 0, seconds: 1, p50Ms: 0, p99Ms: 0, cpuSeconds: 0 })))`;
    const loader = createLoader('lean', process.execPath, ['-e', program]);
    expect(await loader.run(load, signal)).toMatchObject({ requests: 3 });
  });

  test('that fails says why', async () => {
    const loader = createLoader('lean', process.execPath, ['-e', `console.error('no such bucket'); process.exit(1)`]);
    await expect(loader.run(load, signal)).rejects.toMatchObject({ code: 'load-failed', message: 'lean get failed: no such bucket' });
  });
});

describe('what processes use', () => {
  test('a name with blanks and brackets does not shift the fields', () => {
    const stat = '42 (a) b (c) S 1 41 40 0 -1 4194304 100 200 0 0 150 50 25 75 20 0 1 0 12345 1000 200';
    expect(parseStat(stat)).toEqual({ group: 41, cpuSeconds: 3 });
  });

  test('peak memory is in bytes, and unknown where there is none', () => {
    expect(parsePeakBytes('Name:\tnode\nVmPeak:\t  900 kB\nVmHWM:\t  200 kB\nVmRSS:\t 100 kB\n')).toBe(204_800);
    expect(parsePeakBytes('Name:\tkthreadd\n')).toBeUndefined();
    expect(peakMemoryBytes(2 ** 30)).toBeUndefined();
  });

  test.runIf(process.platform === 'linux')('a group without processes has used nothing', () => {
    expect(groupCpuSeconds(2 ** 30)).toBe(0);
    expect(peakMemoryBytes(process.pid)).toBeGreaterThan(1_000_000);
  });
});

test('percentiles', () => {
  const values = Array.from({ length: 101 }, (_, at) => 100 - at);
  expect([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.99), percentile([], 0.5)]).toEqual([50, 99, 7, 0]);
});

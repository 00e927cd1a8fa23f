import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from './percentile.ts';
import type { LoadResult } from './load.ts';

/** Failed requests after which a load ends: something is wrong, and what it measures is worth nothing. */
const ERRORS_MAX = 100;
/** Keeps a server that refuses everything from being asked as fast as it can refuse. */
const ERROR_PAUSE_MS = 10;

export type Loop = {
  readonly clients: number;
  readonly seconds?: number;
  readonly perSecond?: number;
  readonly count?: number;
  /** Nothing new begins once it aborts. */
  readonly until?: AbortSignal;
  /** Told when request `n` is due (on the clock of `performance`), before it is made. */
  readonly onDue?: (n: number, dueMs: number) => void;
};
/** Makes request `n` on behalf of a client; answers with the bytes that it moved. */
export type Work = (n: number, client: number) => Promise<number>;

/** The counterpart of native/loop.go. */
export async function runLoop(loop: Loop, work: Work): Promise<LoadResult> {
  const { clients, seconds, perSecond = 0, count = Number.POSITIVE_INFINITY, until } = loop;
  const latencies: number[] = [];
  const errors: unknown[] = [];
  let next = 0;
  let bytes = 0;
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const endMs = seconds === undefined ? Number.POSITIVE_INFINITY : startMs + seconds * 1_000;

  async function begin(n: number): Promise<number | undefined> {
    const dueMs = perSecond === 0 ? performance.now() : startMs + (n / perSecond) * 1_000;
    if (dueMs >= endMs || n >= count || until?.aborted === true) return undefined;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    loop.onDue?.(n, dueMs);
    return dueMs;
  }

  async function runClient(client: number): Promise<void> {
    while (errors.length < ERRORS_MAX) {
      const n = next++;
      const beginMs = await begin(n);
      if (beginMs === undefined) return;
      try {
        const moved = await work(n, client);
        bytes += moved;
        latencies.push(performance.now() - beginMs);
      } catch (error) {
        errors.push(error);
        await sleep(ERROR_PAUSE_MS);
      }
    }
  }

  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)));
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  if (errors.length >= ERRORS_MAX || latencies.length === 0) throw errors[0];
  return {
    requests: latencies.length,
    errors: errors.length,
    ...(errors.length === 0 ? {} : { firstError: String(errors[0]) }),
    bytes,
    seconds: elapsedSeconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    cpuSeconds: (user + system) / 1e6,
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { KelpError } from '../../src/model/errors.ts';
import type { Address } from './audit.ts';
import type { Flight } from './flights.ts';
import type { KelpClient, Problem } from './kelp-client.ts';

const LANES = 8;
const REQUEST_ROWS = 1_000;
/** Requests in flight or waiting for their lane: bounds memory, and lets lanes that are busier than others stay busy. */
const REQUESTS_OPEN_MAX = 32;
const ATTEMPTS_MAX = 20;

export type Published = { readonly rows: number; readonly bytes: number; readonly requests: number };
export type Publishing = {
  readonly client: Pick<KelpClient, 'publish'>;
  readonly flights: AsyncIterable<readonly Flight[]>;
  /** Just before a flight goes out for the first time. */
  readonly onSent: (flight: Flight) => void;
  readonly onAcknowledged: (flight: Flight, address: Address) => void;
  readonly onProgress: (rows: number) => void;
  readonly signal: AbortSignal;
};

/**
 * Publishes all flights, several requests at a time. A key has one lane, and a lane sends one request after the other, so a key's
 * flights stay in order without producer headers.
 */
export async function publishFlights(publishing: Publishing): Promise<Published> {
  const counts = { rows: 0, bytes: 0, requests: 0 };
  const lanes = Array.from({ length: LANES }, () => ({ waiting: [] as Flight[], last: Promise.resolve() }));
  const open = new Set<Promise<void>>();

  async function add(lane: (typeof lanes)[number]): Promise<void> {
    if (lane.waiting.length === 0) return;
    const flights = lane.waiting;
    lane.waiting = [];
    const request = lane.last.then(() => send(publishing, flights, counts));
    lane.last = request;
    open.add(request);
    // One that failed stays, so that the next to wait for any meets it.
    request.then(
      () => open.delete(request),
      () => undefined,
    );
    if (open.size >= REQUESTS_OPEN_MAX) await Promise.race(open);
  }

  async function addAll(flights: readonly Flight[]): Promise<void> {
    for (const flight of flights) {
      const lane = lanes[crc32(flight.key) % LANES];
      lane?.waiting.push(flight);
      if (lane?.waiting.length === REQUEST_ROWS) await add(lane);
    }
  }

  try {
    for await (const chunk of publishing.flights) await addAll(chunk);
    for (const lane of lanes) await add(lane);
    await Promise.all(open);
    return counts;
  } finally {
    await Promise.allSettled(open);
  }
}

type Counts = { rows: number; bytes: number; requests: number };

/** Sends what was refused again, in order. What may have been stored is not: it could be doubled. */
async function send({ client, onSent, onAcknowledged, onProgress, signal }: Publishing, flights: Flight[], counts: Counts): Promise<void> {
  flights.forEach(onSent);
  let left = flights;
  for (let attempt = 1; left.length > 0; attempt++) {
    signal.throwIfAborted();
    const body = bodyOf(left);
    counts.requests += 1;
    const results = await client.publish(body, left.length);
    const refused = left.filter((flight, at) => {
      const result = results[at];
      if (result === undefined || !('segment' in result)) return true;
      onAcknowledged(flight, result);
      return false;
    });
    counts.rows += left.length - refused.length;
    counts.bytes += bytesOf(left) - bytesOf(refused);
    onProgress(counts.rows);
    if (refused.length > 0) await waitToRetry(results, attempt, signal);
    left = refused;
  }
}

async function waitToRetry(results: readonly (Address | Problem)[], attempt: number, signal: AbortSignal): Promise<void> {
  const problems = results.filter((result) => 'code' in result);
  const final =
    problems.find(({ retryable, indefinite }) => !retryable || indefinite) ?? (attempt < ATTEMPTS_MAX ? undefined : problems[0]);
  if (final !== undefined) throw new KelpError('unavailable', final.code, `publish failed: ${final.code} ${final.detail}`.trimEnd());
  await sleep(Math.max(0, ...problems.map(({ retryAfterMs }) => retryAfterMs)), undefined, { signal });
}

function bodyOf(flights: readonly Flight[]): string {
  const messages = flights.map(
    ({ key, value, timestampMs }) => `{"key":${JSON.stringify(key)},"value":${value},"timestamp":${timestampMs}}`,
  );
  return `{"messages":[${messages.join(',')}]}`;
}

/** Values are ASCII. */
function bytesOf(flights: readonly Flight[]): number {
  return flights.reduce((bytes, { value }) => bytes + value.length, 0);
}

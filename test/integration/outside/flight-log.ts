import { expect } from 'vitest';
import type { Address } from '../../../infra/demo/audit.ts';
import { type Flight, FLIGHT_SCHEMA, loadFlights } from '../../../infra/demo/flights.ts';
import { createKelpClient } from '../../../infra/demo/kelp-client.ts';
import { publishFlights } from '../../../infra/demo/publish-flights.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { expectedOf } from './flight-sums.ts';
import type { FoundFlights } from './live-readers.ts';
import type { LiveTopic } from './live-topic.ts';
import { type LiveWorld, STEP_MS } from './live-world.ts';

const ROWS = 100_000;
const DAYS_BY_TURNS = 17;
export const DATE = '2001-01-02';

/** Flights of a week, whose days come by turns, in a topic. */
export type FlightLog = {
  readonly topic: LiveTopic;
  /** So many more. */
  publish(count: number): Promise<void>;
  published(): readonly Flight[];
  /**
   * What a reader has found is right in itself; and together with what the API has behind it, it is what was published, no message twice.
   * While somebody publishes, at least what was acknowledged before.
   */
  check(found: FoundFlights, publishing?: Promise<void>): Promise<{ readonly seen: number; readonly rest: number }>;
};

export async function createFlightLog(world: LiveWorld, name: string): Promise<FlightLog> {
  const topic = await world.make(name, { segments: 4, schema: FLIGHT_SCHEMA });
  const flights: Flight[] = [];
  for await (const some of loadFlights(ROWS)) flights.push(...some);
  flights.sort((a, b) => (a.row % DAYS_BY_TURNS) - (b.row % DAYS_BY_TURNS));
  const acknowledged = new Map<number, Address>();
  let next = 0;

  return {
    topic,
    published: () => flights.slice(0, next),
    async publish(count) {
      const some = flights.slice(next, (next += count));
      const signal = AbortSignal.timeout(STEP_MS);
      await publishFlights({
        client: createKelpClient({ url: world.url, token: ROOT_TOKEN, topic: name, signal }),
        flights: once(some),
        onSent: () => undefined,
        onAcknowledged: ({ row }, address) => void acknowledged.set(row, address),
        onProgress: () => undefined,
        signal,
      });
    },
    async check({ places, byCommit, ...sums }, publishing) {
      const seen = new Set(places.map(([, , row]) => row));
      expect(sums).toEqual(
        expectedOf(
          flights.filter(({ row }) => seen.has(row)),
          DATE,
        ),
      );
      expect(Object.values(byCommit).reduce((sum, count) => sum + count, 0)).toBe(places.length);
      const before = [...acknowledged.keys()];
      const rest = await topic.readFrom(endsOf(places));
      await publishing;
      const union = [...places, ...rest.map(({ segment, offset, value }) => [segment, offset, (value as { row: number }).row] as const)];
      const rows = new Set(union.map(([, , row]) => row));
      expect({ rows: rows.size, missing: before.filter((row) => !rows.has(row)).slice(0, 5) }).toEqual({ rows: union.length, missing: [] });
      const elsewhere = union.filter(([segment, offset, row]) => !isAt(acknowledged.get(row), segment, offset));
      expect(elsewhere.slice(0, 5)).toEqual([]);
      return { seen: places.length, rest: rest.length };
    },
  };
}

/** Behind the last offset that was found of each segment. */
function endsOf(places: FoundFlights['places']): Map<string, number> {
  const ends = new Map<string, number>();
  for (const [segment, offset] of places) ends.set(segment, Math.max(ends.get(segment) ?? 0, offset + 1));
  return ends;
}

const isAt = (address: Address | undefined, segment: string, offset: number): boolean =>
  address?.segment === segment && address.offset === offset;

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

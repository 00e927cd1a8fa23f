import type { Flight } from '../../../infra/demo/flights.ts';
import { dateOf } from '../../../src/model/archived-file.ts';
import type { FoundFlights, Sums } from './live-readers.ts';

type Value = { readonly delay: number; readonly distance: number };
type Summed = Pick<FoundFlights, 'byDate' | 'onDate' | 'ofKey' | 'ofOrigin'>;

const ORIGIN = 'SEA';

function sumsOf(flights: readonly Flight[]): Sums {
  const values = flights.map(({ value }) => JSON.parse(value) as Value);
  const sum = (of: (value: Value) => number): number => values.reduce((total, value) => total + of(value), 0);
  return [flights.length, sum(({ delay }) => delay), sum(({ distance }) => distance)];
}

/** What a reader is to find of these flights. */
export function expectedOf(flights: readonly Flight[], date: string): Summed {
  const byDate = Map.groupBy(flights, ({ timestampMs }) => dateOf(timestampMs) as string);
  const ofOrigin = sumsOf(flights.filter(({ key }) => key === ORIGIN));
  return {
    byDate: Object.fromEntries([...byDate].map(([day, some]) => [day, sumsOf(some)])),
    onDate: sumsOf(byDate.get(date) ?? []),
    ofKey: ofOrigin,
    ofOrigin,
  };
}

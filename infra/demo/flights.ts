import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetScan } from 'hyparquet';

/** Rows of the file: flights within the United States in the first half of 2001. */
export const FLIGHTS = 3_000_000;
/** Rows that are handed over at once. */
const CHUNK_ROWS = 10_000;
const COLUMNS = ['date', 'delay', 'distance', 'origin', 'destination'] as const;

/** `value` is JSON and holds the row's number in the file, which tells each flight from every other one. */
export type Flight = { readonly row: number; readonly key: string; readonly value: string; readonly timestampMs: number };

/** Of the values. */
export const FLIGHT_SCHEMA = {
  type: 'object',
  properties: {
    row: { type: 'integer' },
    date: { type: 'string', format: 'date-time' },
    delay: { type: 'integer' },
    distance: { type: 'integer' },
    origin: { type: 'string' },
    destination: { type: 'string' },
  },
  required: ['row'],
};

type Column = Awaited<ReturnType<Awaited<ReturnType<typeof parquetScan>>['readColumn']>>;
type Columns = Record<(typeof COLUMNS)[number], Column>;

/** The first `rows` flights in the order of the file. One row group (a ninth part of it or less) is in memory at a time. */
export async function* loadFlights(rows: number): AsyncGenerator<Flight[]> {
  const file = await asyncBufferFromFile(fileURLToPath(new URL('../data/flights-3m.parquet', import.meta.resolve('vega-datasets'))));
  const metadata = await parquetMetadataAsync(file);
  assert(Number(metadata.num_rows) === FLIGHTS && rows <= FLIGHTS, `the file has ${metadata.num_rows} rows`);
  for (const range of await rangesOf(file, metadata)) {
    if (range.rowStart >= rows) return;
    const rowEnd = Math.min(range.rowEnd, rows);
    // A scan keeps the columns that it has read, so each row group gets one of its own.
    const scan = await parquetScan({ file, metadata, columns: [...COLUMNS], compressors: { ZSTD: (input) => zstdDecompressSync(input) } });
    const read = (column: string): Promise<Column> => scan.readColumn({ column, rowStart: range.rowStart, rowEnd });
    const [date, delay, distance, origin, destination] = await Promise.all([
      read('date'),
      read('delay'),
      read('distance'),
      read('origin'),
      read('destination'),
    ]);
    yield* toFlights({ date, delay, distance, origin, destination }, range.rowStart);
  }
}

async function rangesOf(
  file: Awaited<ReturnType<typeof asyncBufferFromFile>>,
  metadata: Awaited<ReturnType<typeof parquetMetadataAsync>>,
): Promise<readonly { readonly rowStart: number; readonly rowEnd: number }[]> {
  return (await parquetScan({ file, metadata })).ranges;
}

function* toFlights(columns: Columns, firstRow: number): Generator<Flight[]> {
  const { length } = columns.origin;
  for (let from = 0; from < length; from += CHUNK_ROWS) {
    const count = Math.min(CHUNK_ROWS, length - from);
    yield Array.from({ length: count }, (_, index) => toFlight(columns, from + index, firstRow + from + index));
  }
}

function toFlight({ date, delay, distance, origin, destination }: Columns, at: number, row: number): Flight {
  const departure: unknown = date[at];
  const key: unknown = origin[at];
  assert(departure instanceof Date && typeof key === 'string', `row ${row} has a date and an origin`);
  const value = {
    row,
    date: departure.toISOString(),
    delay: Number(delay[at]),
    distance: Number(distance[at]),
    origin: key,
    destination: String(destination[at]),
  };
  return { row, key, value: JSON.stringify(value), timestampMs: departure.getTime() };
}

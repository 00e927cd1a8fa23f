import type { Aim } from './aim.ts';
import { judgeArchive } from './archive-aims.ts';
import { judgeColdStarts } from './cold-start-aims.ts';
import { judgeFleet } from './fleet-aims.ts';
import { judgeFlood } from './flood-aims.ts';
import type { Row } from './row.ts';

const RATIOS_MIN = [
  { case: 'b', of: 'raw PUT', ratioMin: 0.75 },
  { case: 'a', of: 'raw PUT', ratioMin: 0.45 },
  { case: 'g batches', of: 'raw PUT', ratioMin: 1.5 },
  { case: 'g json', of: 'raw PUT', ratioMin: 0.6 },
  { case: 'e', of: 'raw GET', ratioMin: 0.7 },
  { case: 'f json 16', of: 'one segment', ratioMin: 0.8 },
  { case: 'f batches 16', of: 'one segment', ratioMin: 0.8 },
  { case: 'q', of: 'raw PUT', ratioMin: 0.95 },
  { case: 's', of: 'raw GET', ratioMin: 0.95 },
  { case: 's uploads', of: 'raw GET', ratioMin: 0.95 },
  { case: 'u', of: 'batch objects', ratioMin: 0.7 },
  { case: 'u json', of: 'batch objects', ratioMin: 0.7 },
  { case: 'u flights', of: 'batch objects', ratioMin: 0.7 },
  { case: 'u flights json', of: 'batch objects', ratioMin: 0.7 },
] as const;
const SINGLES_PER_SECOND_MIN = 5_000;
const PUBLISH_FACTOR_MAX = 1.5;
const END_TO_END_MS_MAX = 5;
const MEGABYTE = 1_000_000;
const BROKER_BYTES_MAX = 300 * MEGABYTE;
const BROKER_MORE_BYTES_MAX = 64 * MEGABYTE;

/** The aims whose cases were run. */
export function judge(rows: readonly Row[]): Aim[] {
  const ratios = RATIOS_MIN.flatMap(({ ratioMin, of, case: name }) => {
    const measured = rows.flatMap((row) => (row.case === name && row.reference !== undefined ? [row.reference.ratio] : []));
    if (measured.length === 0) return [];
    // Readers come in several numbers: the best one counts, as the best shape does on the other side.
    const ratio = Math.max(...measured);
    return [{ kind: 'aim', case: name, aim: `at least ${ratioMin} of ${of}`, figure: ratio.toFixed(2), met: ratio >= ratioMin } as const];
  });
  return [
    ...ratios,
    ...judgeSingles(rows),
    ...judgeLatency(rows),
    ...judgeMemory(rows),
    ...judgeReferences(rows),
    ...judgeFleet(rows),
    ...judgeFlood(rows),
    ...judgeColdStarts(rows),
    ...judgeArchive(rows),
  ];
}

function judgeSingles(rows: readonly Row[]): Aim[] {
  const singles = rows.filter((row) => row.case === 'c');
  return singles.map(({ messagesPerSecond }) => ({
    kind: 'aim',
    case: 'c',
    aim: `at least ${SINGLES_PER_SECOND_MIN} messages/s`,
    figure: messagesPerSecond.toFixed(0),
    met: messagesPerSecond >= SINGLES_PER_SECOND_MIN,
  }));
}

function judgeLatency(rows: readonly Row[]): Aim[] {
  const [put, update, kelp] = ['d put', 'd update', 'd'].map((name) => rows.find((row) => row.case === name));
  if (put === undefined || update === undefined || kelp === undefined) return [];
  const publishMax = PUBLISH_FACTOR_MAX * (put.p50Ms + update.p50Ms);
  const publish: Aim = {
    kind: 'aim',
    case: 'd',
    aim: `publish p50 at most ${PUBLISH_FACTOR_MAX} × (raw PUT p50 + raw update p50)`,
    figure: `${ms(kelp.p50Ms)} of ${ms(publishMax)} (${PUBLISH_FACTOR_MAX} × (${ms(put.p50Ms)} + ${ms(update.p50Ms)}))`,
    met: kelp.p50Ms <= publishMax,
  };
  const endToEndMs = kelp.endToEndP50Ms ?? Number.POSITIVE_INFINITY;
  const laterMs = endToEndMs - kelp.p50Ms;
  const endToEnd: Aim = {
    kind: 'aim',
    case: 'd',
    aim: `end to end p50 at most publish p50 + ${END_TO_END_MS_MAX} ms`,
    figure: `${ms(endToEndMs)}, ${ms(laterMs)} more`,
    met: laterMs <= END_TO_END_MS_MAX,
  };
  return [publish, endToEnd];
}

function judgeMemory(rows: readonly Row[]): Aim[] {
  const peaks = rows.flatMap(({ brokerPeakBytes }) => brokerPeakBytes ?? []);
  if (peaks.length === 0) return [];
  const peak = Math.max(...peaks);
  const aim = `broker memory at most ${BROKER_BYTES_MAX / MEGABYTE} MB`;
  return [{ kind: 'aim', case: 'all', aim, figure: `${(peak / MEGABYTE).toFixed(0)} MB`, met: peak <= BROKER_BYTES_MAX }];
}

/** What passes by reference is not in a broker's memory, however large it is. */
function judgeReferences(rows: readonly Row[]): Aim[] {
  return rows.flatMap(({ case: name, brokerMoreBytes: more }) => {
    if (more === undefined) return [];
    const aim = `broker memory at most ${BROKER_MORE_BYTES_MAX / MEGABYTE} MB above idle`;
    return [{ kind: 'aim', case: name, aim, figure: `${(more / MEGABYTE).toFixed(0)} MB`, met: more <= BROKER_MORE_BYTES_MAX } as const];
  });
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}

import type { Row } from './row.ts';

export type Aim = {
  readonly kind: 'aim';
  readonly case: string;
  readonly aim: string;
  /** What was measured, in the words of the aim. */
  readonly figure: string;
  readonly met: boolean;
};

const RATIOS_MIN = [
  { case: 'b', of: 'raw PUT', ratioMin: 0.75 },
  { case: 'a', of: 'raw PUT', ratioMin: 0.45 },
  { case: 'g batches', of: 'raw PUT', ratioMin: 1.5 },
  { case: 'g json', of: 'raw PUT', ratioMin: 0.6 },
  { case: 'e', of: 'raw GET', ratioMin: 0.7 },
  { case: 'f json 16', of: 'one segment', ratioMin: 0.8 },
  { case: 'f batches 16', of: 'one segment', ratioMin: 0.8 },
] as const;
const SINGLES_PER_SECOND_MIN = 5_000;
const PUBLISH_FACTOR_MAX = 1.5;
const END_TO_END_MS_MAX = 5;
const MEGABYTE = 1_000_000;
const BROKER_BYTES_MAX = 300 * MEGABYTE;

/** The aims whose cases were run. */
export function judge(rows: readonly Row[]): Aim[] {
  const ratios = RATIOS_MIN.flatMap(({ ratioMin, of, case: name }) => {
    const measured = rows.flatMap((row) => (row.case === name && row.reference !== undefined ? [row.reference.ratio] : []));
    if (measured.length === 0) return [];
    // Readers come in several numbers: the best one counts, as the best shape does on the other side.
    const ratio = Math.max(...measured);
    return [aim(name, `at least ${ratioMin} of ${of}`, ratio.toFixed(2), ratio >= ratioMin)];
  });
  return [...ratios, ...judgeSingles(rows), ...judgeLatency(rows), ...judgeMemory(rows)];
}

function judgeSingles(rows: readonly Row[]): Aim[] {
  return rows
    .filter((row) => row.case === 'c')
    .map(({ messagesPerSecond }) => {
      const met = messagesPerSecond >= SINGLES_PER_SECOND_MIN;
      return aim('c', `at least ${SINGLES_PER_SECOND_MIN} messages/s`, messagesPerSecond.toFixed(0), met);
    });
}

function judgeLatency(rows: readonly Row[]): Aim[] {
  const [put, update, kelp] = ['d put', 'd update', 'd'].map((name) => rows.find((row) => row.case === name));
  if (put === undefined || update === undefined || kelp === undefined) return [];
  const publishMax = PUBLISH_FACTOR_MAX * (put.p50Ms + update.p50Ms);
  const publish = `${ms(kelp.p50Ms)} of ${ms(publishMax)} (${PUBLISH_FACTOR_MAX} × (${ms(put.p50Ms)} + ${ms(update.p50Ms)}))`;
  const endToEnd = kelp.endToEndP50Ms ?? Number.POSITIVE_INFINITY;
  const later = endToEnd - kelp.p50Ms;
  return [
    aim('d', `publish p50 at most ${PUBLISH_FACTOR_MAX} × (raw PUT p50 + raw update p50)`, publish, kelp.p50Ms <= publishMax),
    aim(
      'd',
      `end to end p50 at most publish p50 + ${END_TO_END_MS_MAX} ms`,
      `${ms(endToEnd)}, ${ms(later)} more`,
      later <= END_TO_END_MS_MAX,
    ),
  ];
}

function judgeMemory(rows: readonly Row[]): Aim[] {
  const peaks = rows.flatMap(({ brokerPeakBytes }) => brokerPeakBytes ?? []);
  if (peaks.length === 0) return [];
  const peak = Math.max(...peaks);
  return [
    aim('all', `broker memory at most ${BROKER_BYTES_MAX / MEGABYTE} MB`, `${(peak / MEGABYTE).toFixed(0)} MB`, peak <= BROKER_BYTES_MAX),
  ];
}

function aim(name: string, text: string, figure: string, met: boolean): Aim {
  return { kind: 'aim', case: name, aim: text, figure, met };
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}

import type { Aim } from './aim.ts';
import type { Row } from './row.ts';

const MEGABYTE = 1_000_000;
const GIBIBYTE_MEBIBYTES = 1_024;
const GAP = '  ';
const NONE = '–';

type Column = { readonly heading: string; readonly cell: (row: Row) => string | undefined };

const COLUMNS: readonly Column[] = [
  { heading: 'case', cell: (row) => row.case },
  { heading: 'what', cell: (row) => row.label },
  { heading: 'by', cell: (row) => row.client },
  { heading: 'per s', cell: (row) => withCommas(row.messagesPerSecond) },
  { heading: 'MiB/s', cell: (row) => row.mebibytesPerSecond.toFixed(1) },
  { heading: 'ratio', cell: (row) => row.reference?.ratio.toFixed(2) },
  { heading: 'to', cell: (row) => describeReference(row) },
  { heading: 'p50 ms', cell: (row) => row.p50Ms.toFixed(2) },
  { heading: 'p99 ms', cell: (row) => row.p99Ms.toFixed(2) },
  { heading: 'e2e p50/p99', cell: (row) => endToEnd(row) },
  { heading: 'CPU s: load', cell: (row) => row.cpuSeconds.load.toFixed(1) },
  { heading: 'broker', cell: (row) => row.cpuSeconds.broker?.toFixed(1) },
  { heading: 'table', cell: (row) => row.cpuSeconds.table?.toFixed(1) },
  { heading: 'weed', cell: (row) => row.cpuSeconds.weed?.toFixed(1) },
  { heading: 'of s', cell: (row) => row.seconds.toFixed(1) },
  { heading: 'broker MB', cell: (row) => (row.brokerPeakBytes === undefined ? undefined : (row.brokerPeakBytes / MEGABYTE).toFixed(0)) },
  { heading: 'broker s/GiB', cell: (row) => (row.kind === 'kelp' ? perGibibyte(row, row.cpuSeconds.broker)?.toFixed(2) : undefined) },
  { heading: 'behind', cell: (row) => perGibibyte(row, row.brokerBehindSeconds)?.toFixed(2) },
  { heading: 'MiB a CPU s', cell: (row) => perOwnSecond(row)?.toFixed(1) },
  { heading: 'own MB', cell: ({ loadPeakBytes }) => (loadPeakBytes === undefined ? undefined : (loadPeakBytes / MEGABYTE).toFixed(0)) },
  { heading: 'of batches', cell: ({ files }) => (files === undefined ? undefined : (files.bytes / files.batchBytes).toFixed(2)) },
  { heading: 'of NDJSON.gz', cell: ({ files }) => (files === undefined ? undefined : (files.bytes / files.ndjsonGzBytes).toFixed(2)) },
  { heading: 'PUTs/1000', cell: (row) => (row.kind === 'kelp' ? row.putsPerThousand?.toFixed(2) : undefined) },
  { heading: 'table ops/1000', cell: (row) => (row.kind === 'kelp' ? row.tableOperationsPerThousand?.toFixed(2) : undefined) },
  { heading: 'slowest ms', cell: ({ longestMs }) => longestMs?.toFixed(0) },
  { heading: 'relief s', cell: (row) => row.reliefSeconds?.toFixed(0) },
  { heading: 'refused', cell: (row) => row.refused?.toFixed(0) },
  { heading: 'idle table ops/min', cell: (row) => row.idleTableOperationsPerMinute?.toFixed(0) },
  { heading: 'errors', cell: (row) => (row.errors === 0 ? undefined : String(row.errors)) },
];
/** These are text; the others are figures, and line up at their right. */
const TEXT_COLUMNS = 3;

/** Rows that only served to find or hold against are left out. */
export function formatTable(rows: readonly Row[]): string {
  const shown = rows.filter(({ kind }) => kind === 'raw' || kind === 'kelp');
  const lines = shown.map((row) => COLUMNS.map(({ cell }) => cell(row) ?? NONE));
  return layOut([COLUMNS.map(({ heading }) => heading), ...lines], TEXT_COLUMNS);
}

export function formatAims(aims: readonly Aim[]): string {
  const lines = aims.map(({ case: name, aim, figure, met }) => [met ? 'met' : 'NOT MET', name, aim, figure]);
  return layOut([['', 'case', 'aim', 'measured'], ...lines], 4);
}

function layOut(lines: readonly (readonly string[])[], textColumns: number): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  return lines
    .map((cells) =>
      cells.map((cell, column) => (column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))),
    )
    .map((cells) => cells.join(GAP).trimEnd())
    .join('\n');
}

/** Of processor time that the load has cost. */
function perGibibyte({ mebibytesPerSecond, seconds }: Row, cpuSeconds: number | undefined): number | undefined {
  if (cpuSeconds === undefined || mebibytesPerSecond === 0) return undefined;
  return cpuSeconds / ((mebibytesPerSecond * seconds) / GIBIBYTE_MEBIBYTES);
}

/** Of an archiver: what it takes in for each second of its own processor time. */
export function perOwnSecond({ client, mebibytesPerSecond, seconds, cpuSeconds }: Row): number | undefined {
  return client === 'archiver' ? (mebibytesPerSecond * seconds) / cpuSeconds.load : undefined;
}

function describeReference({ reference }: Row): string | undefined {
  if (reference === undefined) return undefined;
  const { what, perSecond, unit } = reference;
  return unit === 'MiB' ? `${perSecond.toFixed(1)} MiB/s ${what}` : `${withCommas(perSecond)}/s ${what}`;
}

function endToEnd({ endToEndP50Ms, endToEndP99Ms }: Row): string | undefined {
  return endToEndP50Ms === undefined ? undefined : `${endToEndP50Ms.toFixed(2)}/${endToEndP99Ms?.toFixed(2) ?? NONE}`;
}

function withCommas(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

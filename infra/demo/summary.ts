import type { Changes } from './kelp-client.ts';
import { withCommas } from './progress.ts';

export type Phase = { readonly rows: number; readonly bytes: number; readonly requests: number; readonly seconds: number };
export type Summary = {
  readonly publish: Phase;
  readonly read: Phase;
  readonly keys: number;
  /** That had any of the rows, also those that were split or merged meanwhile. */
  readonly segments: number;
  readonly changes: Changes;
  /** Objects that the broker has stored meanwhile. */
  readonly objects: number;
};

const HEADINGS = ['', 'rows', 'MiB', 'requests', 'seconds', 'rows/s'] as const;
const MEBIBYTE = 1_048_576;
const GAP = '   ';

/** The table that people see at the end. Bytes are those of the values (publish), and of the answers (read). */
export function formatSummary({ publish, read, keys, segments, changes, objects }: Summary): string {
  const rows = [[...HEADINGS], phaseCells('publish', publish), phaseCells('read', read)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) => cells.map((cell, column) => pad(cell, column, widths[column] ?? 0)).join(GAP));
  return [...lines, '', `${keys} keys, ${segments} segments${describe(changes)}, ${withCommas(objects)} objects`].join('\n');
}

function describe({ splits, merges }: Changes): string {
  return splits + merges === 0 ? '' : ` (splits: ${splits}, merges: ${merges})`;
}

function phaseCells(name: string, { rows, bytes, requests, seconds }: Phase): string[] {
  const rate = withCommas(Math.round(rows / seconds));
  return [name, withCommas(rows), (bytes / MEBIBYTE).toFixed(1), withCommas(requests), seconds.toFixed(1), rate];
}

function pad(cell: string, column: number, width: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

import type { TableMoment } from './flood-rows.ts';
import { wallMs } from './flood-writers.ts';
import type { ThrottledTable } from './throttled-table.ts';

const SECOND_MS = 1_000;

/** Second by second. */
export function watchTable(table: ThrottledTable): { readonly moments: readonly TableMoment[]; stop(): void } {
  const moments: TableMoment[] = [];
  const look = (): void => void moments.push({ atMs: wallMs(), ...table.counts() });
  look();
  const timer = setInterval(look, SECOND_MS);
  return { moments, stop: () => clearInterval(timer) };
}

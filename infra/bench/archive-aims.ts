import type { Aim } from './aim.ts';
import { perOwnSecond } from './report.ts';
import type { Row } from './row.ts';

const INPUT_MEBIBYTES_MIN = 100;
const MEGABYTE = 1_000_000;
const ARCHIVER_BYTES_MAX = 512 * MEGABYTE;

/** What archiving is held against: by its processor time, and by what it has in memory, however much it archives. */
export function judgeArchive(rows: readonly Row[]): Aim[] {
  return rows.flatMap((row) => [...judgeInput(row), ...judgeMemory(row)]);
}

function judgeInput(row: Row): Aim[] {
  const reached = perOwnSecond(row);
  if (reached === undefined) return [];
  const aim = `at least ${INPUT_MEBIBYTES_MIN} MiB of messages a second of one processor`;
  return [{ kind: 'aim', case: row.case, aim, figure: `${reached.toFixed(0)} MiB`, met: reached >= INPUT_MEBIBYTES_MIN }];
}

function judgeMemory({ case: name, loadPeakBytes: peak }: Row): Aim[] {
  if (peak === undefined) return [];
  const aim = `archiver memory at most ${ARCHIVER_BYTES_MAX / MEGABYTE} MB`;
  return [{ kind: 'aim', case: name, aim, figure: `${(peak / MEGABYTE).toFixed(0)} MB`, met: peak <= ARCHIVER_BYTES_MAX }];
}

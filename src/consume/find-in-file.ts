import { groupReaching } from '../format/archived-file/plan-read.ts';
import type { GroupRows } from '../format/archived-file/read-group.ts';
import type { ArchivedFiles, WantedFile } from './archived-files.ts';
import { orDamage } from './file-damage.ts';

/**
 * The lowest offset of a file, from `from` on, whose message has this timestamp or a later one; undefined: none has. Looks at row groups
 * that reach it only. Error `corrupt`.
 */
export async function findInFile(
  { files }: { readonly files: ArchivedFiles },
  { file, from, timestampMs }: { readonly file: WantedFile; readonly from: number; readonly timestampMs: number },
  signal: AbortSignal,
): Promise<number | undefined> {
  const { last } = file.record;
  if (file.record.file.rows === 0) return undefined;
  const footer = await orDamage(files.footer(file, signal), { file, offset: from, nextOffset: last + 1 });
  for (let next = from; ;) {
    const group = groupReaching(footer, timestampMs, next);
    if (group === undefined) return undefined;
    const rows = await orDamage(files.rows(file, group, signal), { file, offset: next, nextOffset: group.last + 1 });
    const row = rowReaching(rows, timestampMs, next);
    if (row !== undefined) return rows.offsetAt(row);
    next = group.last + 1;
  }
}

function rowReaching(rows: GroupRows, timestampMs: number, from: number): number | undefined {
  for (let row = 0; row < rows.count; row += 1) if (rows.timestampAt(row) >= timestampMs && rows.offsetAt(row) >= from) return row;
  return undefined;
}

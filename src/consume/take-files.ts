import type { FileFooter } from '../format/archived-file/read-footer.ts';
import { READ_RANGES_PARALLEL_MAX } from '../model/limits.ts';
import { openScope } from '../state/abortable.ts';
import type { ArchivedFiles, WantedFile } from './archived-files.ts';
import type { BatchDecoder } from './decode-batch.ts';
import { orDamage } from './file-damage.ts';
import type { BatchSlice } from './page.ts';
import { isDone, passOver } from './part-progress.ts';
import type { TakeInto } from './read-batches.ts';
import { takeRows } from './take-rows.ts';

export type FileDeps = { readonly files: ArchivedFiles; readonly decoder: BatchDecoder };
type Into = Pick<TakeInto<BatchSlice>, 'part' | 'page'>;

/**
 * Takes what fits of files that follow each other, the next ones under way while one is looked at. Errors `corrupt`, of a file that is
 * missing as well, and the store's.
 */
export async function takeFiles(deps: FileDeps, wanted: readonly WantedFile[], into: Into, signal: AbortSignal): Promise<void> {
  const { part, page } = into;
  const scope = openScope(signal);
  const footerOf = createAhead(wanted, (file) => deps.files.footer(file, scope.signal));
  try {
    for (const [index, file] of wanted.entries()) {
      if (isDone(part, page)) return;
      const { last, file: written } = file.record;
      const footer = (): Promise<FileFooter> => footerOf(index, (next) => next.record.first - part.next < page.room.messages);
      if (written.rows > 0 && !(await takeFile(deps, { file, footer: footer() }, into, scope.signal))) return;
      passOver(part, last + 1);
    }
  } finally {
    scope.end();
  }
}

/** False where the part ends within it. */
async function takeFile(
  { files, decoder }: FileDeps,
  { file, footer }: { readonly file: WantedFile; readonly footer: Promise<FileFooter> },
  { part, page }: Into,
  signal: AbortSignal,
): Promise<boolean> {
  const { segment, record } = file;
  const all = await orDamage(footer, { file, offset: part.next, nextOffset: record.last + 1 });
  const groups = all.groups.filter(({ last }) => last >= part.next);
  const rowsOf = createAhead(groups, (group) => files.rows(file, group, signal));
  for (const [index, { last }] of groups.entries()) {
    if (isDone(part, page)) return false;
    let bytes = 0;
    const take = rowsOf(index, (next) => {
      bytes += next.plainBytes;
      return bytes < page.room.bytes && next.first - part.next < page.room.messages;
    }).then((rows) => takeRows(decoder, { segment, rows }, { part, page }));
    if (!(await orDamage(take, { file, offset: part.next, nextOffset: last + 1 }))) return false;
  }
  return true;
}

/** Begins what is asked for, and the next ones for as long as they are wanted. What is never asked for is nobody's failure. */
function createAhead<T, R>(items: readonly T[], begin: (item: T) => Promise<R>) {
  const begun = new Map<number, Promise<R>>();

  function start(index: number, item: T): Promise<R> {
    const result = begun.get(index) ?? begin(item);
    result.catch(() => undefined);
    begun.set(index, result);
    return result;
  }

  return (index: number, isWanted: (item: T) => boolean): Promise<R> => {
    const [first, ...next] = items.slice(index, index + READ_RANGES_PARALLEL_MAX);
    if (first === undefined) throw new RangeError(`no item ${index} is wanted`);
    const result = start(index, first);
    for (const [delta, item] of next.entries()) {
      if (!isWanted(item)) break;
      void start(index + 1 + delta, item);
    }
    return result;
  };
}

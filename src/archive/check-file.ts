import { crc32c } from '#crc32c';
import { toHex } from '../format/archived-file/file-metadata.ts';
import { encodeUtf8 } from '../format/utf8.ts';
import { type ArchivedGroup, decodeFooter, type FileFooter, footerBytes, tailRange } from '../format/archived-file/read-footer.ts';
import type { WrittenFile } from '../model/archive.ts';
import type { ArchivedFile } from '../model/archived-file.ts';
import { KelpError } from '../model/errors.ts';
import { READ_RANGE_BYTES_MAX } from '../model/limits.ts';
import type { ObjectStore } from '../ports/object-store.ts';

/** At its start, too; nobody reads it there but programs that ask what it is. */
const MARK = encodeUtf8('PAR1');

type CheckFileDeps = { readonly store: Pick<ObjectStore, 'head' | 'getRange'> };
type Wanted = { readonly key: string; readonly file: ArchivedFile };

/** What is in the object under this key, once all of it was read; undefined: there is none, or it is damaged or another one's. */
export async function checkFile(deps: CheckFileDeps, wanted: Wanted, signal: AbortSignal): Promise<WrittenFile | undefined> {
  try {
    return await readWhole(deps, wanted, signal);
  } catch (error) {
    if (error instanceof KelpError && (error.kind === 'corrupt' || error.code === 'object-not-found')) return undefined;
    throw error;
  }
}

async function readWhole({ store }: CheckFileDeps, { key, file }: Wanted, signal: AbortSignal): Promise<WrittenFile | undefined> {
  const found = await store.head(key, signal);
  if (found === undefined) return undefined;
  const { bytes } = found;
  const read = ({ start, length }: { readonly start: number; readonly length: number }) => store.getRange(key, start, length, signal);
  let tail = await read(tailRange(bytes));
  const length = footerBytes(tail);
  if (length > tail.length) tail = await read(tailRange(bytes, length));
  const footer = decodeFooter(tail, bytes);
  if (!isSame(footer.file, file)) return undefined;
  const mark = await read({ start: 0, length: MARK.length });
  if (Buffer.compare(mark, MARK) !== 0) return undefined;
  for (const groups of inStretches(footer)) {
    const begin = groups[0]?.range.start ?? 0;
    const stretch = await read({ start: begin, length: endOf(groups.at(-1)) - begin });
    for (const { range, checksum } of groups) {
      if (toHex(crc32c(stretch.subarray(range.start - begin, range.start - begin + range.length))) !== checksum) return undefined;
    }
  }
  const rows = footer.groups.reduce((sum, { count }) => sum + count, 0);
  return { rows, misfits: footer.misfits, bytes, footerBytes: length };
}

const isSame = (a: ArchivedFile, b: ArchivedFile): boolean =>
  a.topic === b.topic && a.segment === b.segment && a.date === b.date && a.first === b.first && a.last === b.last;

/** Row groups that are read with one request: they lie one behind the other. */
function inStretches({ groups }: FileFooter): ArchivedGroup[][] {
  const stretches: ArchivedGroup[][] = [];
  for (const group of groups) {
    const last = stretches.at(-1);
    if (last !== undefined && endOf(group) - (last[0]?.range.start ?? 0) <= READ_RANGE_BYTES_MAX) last.push(group);
    else stretches.push([group]);
  }
  return stretches;
}

const endOf = (group: ArchivedGroup | undefined): number => (group === undefined ? 0 : group.range.start + group.range.length);

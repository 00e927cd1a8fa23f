import type { Item, Key, Value } from '../../../src/ports/metadata-table.ts';
import type { StoredMessage } from './stored-message.ts';

// What has left the index, read as plainly as stored-log.ts reads the index: the archive item, the records, and files, which stand in
// the shared table like any object. A file of the model has the list of its rows, `message@offset`.

export type Archived = {
  /** All below it are in files or dropped; those from `start` on are in files. */
  readonly through: number;
  readonly start: number;
  readonly messages: readonly StoredMessage[];
  readonly fault: string | undefined;
};
export type ArchiveItems = { readonly archive: Item | undefined; readonly records: readonly Item[]; readonly files: readonly Item[] };

const FILE = 'file';

export function readArchived(segment: string, { archive, records, files }: ArchiveItems): Archived {
  const [through, start] = [Number(archive?.['ah'] ?? 0), Number(archive?.['start'] ?? 0)];
  const own = files.filter((file) => String(file['sk']).includes(`kelp_segment=${segment}/`));
  const messages: StoredMessage[] = [];
  const found = (fault?: string): Archived => ({ through, start, messages, fault: fault ?? twiceInFiles(segment, own) });
  const inOrder = records.toSorted((a, b) => Number(a['first']) - Number(b['first']));
  for (let next = start; next < through;) {
    const record = inOrder.find(({ first, last }) => Number(first) <= next && next <= Number(last));
    if (record === undefined) return found(`archive-hole: ${segment} has no record at ${next}, between ${start} and ${through}`);
    if (record['state'] !== 'written') return found(`archive-hole: ${segment} has a ${String(record['state'])} record at ${next}`);
    const rows = rowsOf(own, record);
    if (rows === undefined) return found(`file-lost: ${segment} has no file at ${next}, between ${start} and ${through}`);
    for (; next <= Number(record['last']) && next < through; next += 1) {
      const row = rows.find(({ offset }) => offset === next);
      if (row === undefined) return found(`file-lost: ${segment} has no row for ${next}`);
      messages.push({ ...row, segment, object: FILE });
    }
  }
  return found();
}

function rowsOf(files: readonly Item[], { first, last }: Item): ReturnType<typeof rows> | undefined {
  const name = [first, last].map((offset) => String(offset).padStart(16, '0')).join('-');
  const file = files.find(({ sk }) => String(sk).endsWith(`/${name}.parquet`));
  return file === undefined ? undefined : rows(file);
}

const rows = (file: Item): { readonly message: string; readonly offset: number }[] =>
  (file['rows'] as readonly string[]).map((row) => ({ message: row.split('@')[0] ?? '', offset: Number(row.split('@')[1]) }));

/** Whoever reads a topic's folder as it stands knows nothing of records. */
function twiceInFiles(segment: string, files: readonly Item[]): string | undefined {
  const offsets = files.flatMap((file) => rows(file).map(({ offset }) => offset));
  const twice = offsets.find((offset, index) => offsets.indexOf(offset) !== index);
  return twice === undefined ? undefined : `glob-twice: two files of ${segment} have ${twice}`;
}

/** Of an archive item or a file's record, in one write. */
export function checkArchiveWrite({ pk, sk }: Key, before: Item, after: Item | undefined): string | undefined {
  const name = `${pk} ${sk}`;
  if (after === undefined) return `record-lost: ${name}`;
  if (sk !== 'a') return checkRecord(name, before, after);
  const back = (['ah', 'start', 'ga'] as const).find((field) => isBelow(after[field], before[field]));
  if (back !== undefined) return `archive-back: ${back} of ${name} from ${String(before[back])} to ${String(after[back])}`;
  return Number(after['start']) > Number(after['ah']) ? `archive-back: ${name} begins behind what was archived` : undefined;
}

const isBelow = (value: Value | undefined, other: Value | undefined): boolean =>
  typeof value === 'number' ? value < Number(other) : String(value) < String(other);

/** What it is about stays, and so does what has become of it. */
function checkRecord(name: string, before: Item, after: Item): string | undefined {
  const changed = ['last', 'date', 'g', 't', 'bytes'].find((field) => before[field] !== after[field]);
  if (changed !== undefined) return `record-changed: ${changed} of ${name}`;
  if (before['state'] === 'planned' || before['state'] === after['state']) return undefined;
  return `record-changed: ${name} was ${String(before['state'])}, and is ${String(after['state'])}`;
}

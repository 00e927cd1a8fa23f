import type { Bytes, Header } from '../../model/message.ts';
import { decodeUtf8 } from '../utf8.ts';
import { byteColumn, type ByteColumn } from './column-values.ts';
import { damagedFile } from './damaged-file.ts';
import type { ColumnPage } from './read-page.ts';

/** The lists of headers of a row group, by row. */
export type HeaderColumn = {
  at(row: number): readonly Header[];
  /** Where the parts of a row's headers begin in their columns, and where they end. */
  firstOf(row: number): number;
  endOf(row: number): number;
  readonly names: ByteColumn;
  readonly values: ByteColumn;
  readonly rows: number;
};

const NO_BYTES = new Uint8Array(0);
/** Most messages have the same few. */
const NAMES_KNOWN_MAX = 16;

/** A row is an entry for each of its headers, and one without a name where it has none. */
export function headerColumn(names: ColumnPage, values: ColumnPage): HeaderColumn {
  const starts = rowStarts(names);
  const named = byteColumn(names, 1);
  const valued = byteColumn(values, 2);
  if (values.entries !== names.entries) throw damagedFile('there are other header names than values');
  const nameOf = createNames();
  const firstOf = (row: number): number => starts[row] ?? 0;
  const endOf = (row: number): number => (named.lengthAt(firstOf(row)) < 0 ? firstOf(row) : firstOf(row + 1));
  return {
    at(row) {
      const headers: Header[] = [];
      for (let entry = firstOf(row), end = endOf(row); entry < end; entry += 1) {
        headers.push({ name: nameOf(named.at(entry) ?? NO_BYTES), value: valued.at(entry) });
      }
      return headers;
    },
    firstOf,
    endOf,
    names: named,
    values: valued,
    rows: starts.length - 1,
  };
}

/** The first entry of each row, and behind the last one the end. */
function rowStarts({ entries, repetition }: ColumnPage): Int32Array {
  const starts = new Int32Array(entries + 1);
  let rows = 0;
  for (let entry = 0; entry < entries; entry += 1) {
    if (repetition?.[entry] !== 0) continue;
    starts[rows] = entry;
    rows += 1;
  }
  starts[rows] = entries;
  return starts.subarray(0, rows + 1);
}

function createNames(): (bytes: Bytes) => string {
  const known: { readonly bytes: Bytes; readonly name: string }[] = [];
  return (bytes) => {
    const before = known.find((one) => isSame(one.bytes, bytes));
    if (before !== undefined) return before.name;
    const name = decodeUtf8(bytes);
    if (name === undefined) throw damagedFile('a name is not valid UTF-8');
    if (known.length < NAMES_KNOWN_MAX) known.push({ bytes, name });
    return name;
  };
}

function isSame(a: Bytes, b: Bytes): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}

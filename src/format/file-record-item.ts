import type { FileRecord, WrittenFile } from '../model/archive.ts';
import type { UtcDate } from '../model/archived-file.ts';
import type { CommitId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, integerField, listField, stringField, wordField } from './item-fields.ts';
import { decodeTypedColumn, encodeTypedColumn } from './typed-column-item.ts';

const RECORD_VERSION = 1;
const STATES = ['planned', 'written', 'dropped'] as const;

export function encodeFileRecord(record: FileRecord): Item {
  const { file } = record;
  return {
    v: RECORD_VERSION,
    tenant: TENANT_DEFAULT,
    first: record.first,
    last: record.last,
    state: record.state,
    date: record.date,
    g: record.guard,
    t: record.highestTimestampMs,
    bytes: record.bytes,
    columns: record.columns.map(encodeTypedColumn),
    at: record.atMs,
    ...(file === undefined ? {} : { rows: file.rows, misfits: file.misfits, size: file.bytes, footer: file.footerBytes }),
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeFileRecord(item: Item): FileRecord {
  checkVersion(item, RECORD_VERSION);
  const state = wordField(item, 'state', STATES);
  return {
    first: integerField(item, 'first'),
    last: integerField(item, 'last'),
    state,
    date: stringField(item, 'date') as UtcDate,
    guard: stringField(item, 'g') as CommitId | '',
    highestTimestampMs: integerField(item, 't'),
    bytes: integerField(item, 'bytes'),
    columns: listField(item, 'columns').map(decodeTypedColumn),
    atMs: integerField(item, 'at'),
    ...(state === 'written' ? { file: decodeFile(item) } : {}),
  };
}

function decodeFile(item: Item): WrittenFile {
  return {
    rows: integerField(item, 'rows'),
    misfits: integerField(item, 'misfits'),
    bytes: integerField(item, 'size'),
    footerBytes: integerField(item, 'footer'),
  };
}

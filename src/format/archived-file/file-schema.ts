import type { SchemaElement } from 'hyparquet';
import { COLUMN_TYPES, type ColumnType, type TypedColumn } from '../../model/archive.ts';
import { COLUMN_PREFIX } from '../topic-schema.ts';

const REQUIRED = { repetition_type: 'REQUIRED' } as const;
const BYTES = { type: 'BYTE_ARRAY' } as const;
const OPTIONAL = { repetition_type: 'OPTIONAL' } as const;
const TEXT = { ...BYTES, converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const TIME = {
  type: 'INT64',
  // The older name as well: not every reader knows the newer one.
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
} as const;

const CHILDREN = 7;
/** The columns of every file, as FORMAT.md, chapter 7, has them; lists as the tree that the format makes of them. */
const OWN: readonly SchemaElement[] = [
  { name: 'kelp_offset', type: 'INT64', ...REQUIRED },
  { name: 'kelp_partition', type: 'INT32', ...REQUIRED },
  { name: 'kelp_key', ...BYTES, ...REQUIRED },
  { name: 'kelp_value', ...BYTES, ...OPTIONAL },
  { name: 'kelp_headers', converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1, ...REQUIRED },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', num_children: 2, ...REQUIRED },
  { name: 'name', ...TEXT, ...REQUIRED },
  { name: 'value', ...BYTES, ...OPTIONAL },
  { name: 'kelp_timestamp', ...TIME, ...REQUIRED },
  { name: 'kelp_committed', ...TIME, ...REQUIRED },
];
const TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  string: TEXT,
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
};

/** All columns of a file, a topic's typed ones behind those of every file. */
export function fileSchema(columns: readonly TypedColumn[]): SchemaElement[] {
  const typed = columns.map(({ column, type }): SchemaElement => ({ name: column, ...TYPES[type], ...OPTIONAL }));
  return [{ name: 'kelp', num_children: CHILDREN + columns.length }, ...OWN, ...typed];
}

/** Whether a file has the columns of all, and none but typed ones behind them. */
export function hasFileSchema([root, ...columns]: readonly SchemaElement[]): boolean {
  const typed = columns.slice(OWN.length);
  return root?.num_children === CHILDREN + typed.length && OWN.every((one, at) => isSame(one, columns[at])) && typed.every(isTyped);
}

const isTyped = (column: SchemaElement): boolean =>
  column.name.startsWith(COLUMN_PREFIX) && COLUMN_TYPES.some((type) => isSame({ name: column.name, ...TYPES[type], ...OPTIONAL }, column));

const isSame = (a: SchemaElement, b: SchemaElement | undefined): boolean =>
  a.name === b?.name && a.type === b.type && a.repetition_type === b.repetition_type && a.num_children === b.num_children;

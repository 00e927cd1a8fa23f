import type { SchemaElement } from 'hyparquet';

const REQUIRED = { repetition_type: 'REQUIRED' } as const;
const BYTES = { type: 'BYTE_ARRAY' } as const;
const TEXT = { ...BYTES, converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const TIME = {
  type: 'INT64',
  // The older name as well: not every reader knows the newer one.
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
} as const;

/** The columns of FORMAT.md, chapter 7, as the tree that the format makes of them. */
export const FILE_SCHEMA: readonly SchemaElement[] = [
  { name: 'kelp', num_children: 7 },
  { name: 'kelp_offset', type: 'INT64', ...REQUIRED },
  { name: 'kelp_partition', type: 'INT32', ...REQUIRED },
  { name: 'kelp_key', ...BYTES, ...REQUIRED },
  { name: 'kelp_value', ...BYTES, repetition_type: 'OPTIONAL' },
  { name: 'kelp_headers', converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1, ...REQUIRED },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', num_children: 2, ...REQUIRED },
  { name: 'name', ...TEXT, ...REQUIRED },
  { name: 'value', ...BYTES, repetition_type: 'OPTIONAL' },
  { name: 'kelp_timestamp', ...TIME, ...REQUIRED },
  { name: 'kelp_committed', ...TIME, ...REQUIRED },
];

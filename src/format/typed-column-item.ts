import { COLUMN_TYPES, type TypedColumn } from '../model/archive.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, flagField, stringField, wordField } from './item-fields.ts';

export function encodeTypedColumn({ property, column, type, required, nullable }: TypedColumn): Item {
  return { p: property, c: column, t: type, r: required, n: nullable };
}

/** Error `corrupt` where it is not as FORMAT.md says. */
export function decodeTypedColumn(value: Value): TypedColumn {
  const item = asItem(value, 'columns');
  return {
    property: stringField(item, 'p'),
    column: stringField(item, 'c'),
    type: wordField(item, 't', COLUMN_TYPES),
    required: flagField(item, 'r'),
    nullable: flagField(item, 'n'),
  };
}

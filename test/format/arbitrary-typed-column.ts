import fc from 'fast-check';
import { COLUMN_TYPES, type TypedColumn } from '../../src/model/archive.ts';

export const arbitraryTypedColumn: fc.Arbitrary<TypedColumn> = fc.record({
  property: fc.string(),
  column: fc.string(),
  type: fc.constantFrom(...COLUMN_TYPES),
  required: fc.boolean(),
  nullable: fc.boolean(),
});

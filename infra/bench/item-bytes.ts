/** An attribute's value as the API's JSON has it. */
type Value =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly B: string }
  | { readonly BOOL: boolean }
  | { readonly NULL: boolean }
  | { readonly L: readonly Value[] }
  | { readonly M: Attributes };
export type Attributes = Readonly<Record<string, Value>>;

const COLLECTION_BYTES = 3;
const NUMBER_BYTES = 1;
const DIGITS_PER_BYTE = 2;

/** What DynamoDB charges an item for: names and texts in UTF-8, two digits a byte, and 3 bytes a list or map with one for each that is in it. */
export function itemBytes(attributes: Attributes): number {
  return Object.entries(attributes).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: Value): number {
  if ('S' in value) return Buffer.byteLength(value.S);
  if ('N' in value) return NUMBER_BYTES + Math.ceil(value.N.replace(/\D/g, '').length / DIGITS_PER_BYTE);
  if ('B' in value) return Buffer.byteLength(value.B, 'base64');
  if ('L' in value) return value.L.reduce((sum, element) => sum + 1 + valueBytes(element), COLLECTION_BYTES);
  if ('M' in value) return COLLECTION_BYTES + Object.keys(value.M).length + itemBytes(value.M);
  return 1;
}

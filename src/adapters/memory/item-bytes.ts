import { KelpError } from '../../model/errors.ts';
import type { Value } from '../../ports/metadata-table.ts';
import { isMap } from './compare.ts';

// Sizes as the real table charges them: names and text in UTF-8, one byte for a flag, 3 + 1 a member for maps and lists.
const CONTAINER_BYTES = 3;
const MEMBER_BYTES = 1;

/** Size of a value in bytes, as the real table counts it; refuses what no table could store. */
function valueBytes(value: Value): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return numberBytes(value);
  if (typeof value === 'boolean' || value === null) return 1;
  if (value instanceof Uint8Array) return value.length;
  if (Array.isArray(value)) return listBytes(value);
  if (!isMap(value)) throw new KelpError('invalid', 'table-refused', `a table can't store a value of type ${typeof value}`);
  return CONTAINER_BYTES + mapBytes(value);
}

/** Size of an item: its attributes without a container of their own. */
export function itemBytes(item: { readonly [name: string]: Value }): number {
  return mapBytes(item) - Object.keys(item).length * MEMBER_BYTES;
}

function mapBytes(map: { readonly [name: string]: Value }): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(map)) bytes += Buffer.byteLength(name) + valueBytes(value) + MEMBER_BYTES;
  return bytes;
}

function listBytes(list: readonly Value[]): number {
  return list.reduce<number>((bytes, value) => bytes + valueBytes(value) + MEMBER_BYTES, CONTAINER_BYTES);
}

/** One byte for two digits, and one more. */
function numberBytes(value: number): number {
  if (!Number.isSafeInteger(value)) throw new KelpError('invalid', 'table-refused', `${value} is not an integer up to 2^53 - 1`);
  return Math.ceil(String(Math.abs(value)).length / 2) + 1 + (value < 0 ? 1 : 0);
}

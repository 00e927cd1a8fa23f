import { KelpError } from '../../model/errors.ts';
import type { Value } from '../../ports/metadata-table.ts';

export type ValueMap = { readonly [name: string]: Value };

/** A table tells maps from lists and bytes by type; plain JavaScript does not. */
export function isMap(value: Value | undefined): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** Own members only: an attribute may be called `constructor`. */
export function member(map: ValueMap, name: string): Value | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

/** Equal in type and content, at any depth. */
export function equal(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (left instanceof Uint8Array) return right instanceof Uint8Array && compareBytes(left, right) === 0;
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right);
  return isMap(left) && isMap(right) && equalMaps(left, right);
}

function equalLists(left: readonly Value[], right: readonly Value[]): boolean {
  return left.length === right.length && left.every((value, index) => equal(value, right[index] as Value));
}

function equalMaps(left: ValueMap, right: ValueMap): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => Object.hasOwn(right, name) && equal(left[name] as Value, right[name] as Value));
}

/**
 * Order of two values of one type: negative, 0 or positive; undefined where the types differ (no order comparison holds).
 * A right side without an order is a bug of the caller, as it is for the real table.
 */
export function order(left: Value, right: Value): number | undefined {
  if (typeof right === 'number') return typeof left === 'number' ? left - right : undefined;
  if (typeof right === 'string') return typeof left === 'string' ? compareText(left, right) : undefined;
  if (right instanceof Uint8Array) return left instanceof Uint8Array ? compareBytes(left, right) : undefined;
  throw new KelpError('invalid', 'table-refused', 'only text, numbers and bytes have an order');
}

/** Order of the UTF-8 bytes, which is the table's. JavaScript's own order differs above U+D7FF, where surrogates begin. */
export function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return utf8Rank(a) - utf8Rank(b);
  }
  return left.length - right.length;
}

/** Surrogates stand for code points above U+FFFF, so they rank above U+E000 … U+FFFF. */
function utf8Rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = (left[index] as number) - (right[index] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

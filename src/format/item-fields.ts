import { KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import type { Item, Value } from '../ports/metadata-table.ts';

// Readers of stored fields: what is not as FORMAT.md says is damage, and named as such.

function damaged(name: string, value: Value | undefined): KelpError {
  return new KelpError('corrupt', 'corrupt', `stored field ${name} is damaged (${value === undefined ? 'absent' : typeof value})`);
}

export function stringField(item: Item, name: string): string {
  const value = item[name];
  if (typeof value !== 'string') throw damaged(name, value);
  return value;
}

export function integerField(item: Item, name: string): number {
  const value = item[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw damaged(name, value);
  return value;
}

export function mapField(item: Item, name: string): Item {
  const value = item[name];
  if (!isItem(value)) throw damaged(name, value);
  return value;
}

/** Absent: false. */
export function flagField(item: Item, name: string): boolean {
  const value = item[name] ?? false;
  if (typeof value !== 'boolean') throw damaged(name, value);
  return value;
}

/** Undefined where there is none. */
export function bytesField(item: Item, name: string): Bytes | undefined {
  const value = item[name];
  if (value !== undefined && !(value instanceof Uint8Array)) throw damaged(name, value);
  return value;
}

export function stringsField(item: Item, name: string): readonly string[] {
  return listField(item, name).map((value) => {
    if (typeof value !== 'string') throw damaged(name, value);
    return value;
  });
}

export function integersField(item: Item, name: string): readonly number[] {
  return listField(item, name).map((value) => {
    if (!Number.isSafeInteger(value)) throw damaged(name, value);
    return value as number;
  });
}

export function listField(item: Item, name: string): readonly Value[] {
  const value = item[name];
  if (!Array.isArray(value)) throw damaged(name, value);
  return value as readonly Value[];
}

export function asItem(value: Value | undefined, name: string): Item {
  if (!isItem(value)) throw damaged(name, value);
  return value;
}

/** One of a closed set of words. */
export function wordField<T extends string>(item: Item, name: string, words: readonly T[]): T {
  const value = stringField(item, name);
  const word = words.find((candidate) => candidate === value);
  if (word === undefined) throw damaged(name, value);
  return word;
}

/** The stored form's version; a newer one than `highest` was written by newer code and can't be read. */
export function checkVersion(item: Item, highest: number): void {
  const version = integerField(item, 'v');
  if (version > highest) throw new KelpError('corrupt', 'corrupt', `stored form ${version} is newer than this program (${highest})`);
}

function isItem(value: Value | undefined): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

import { randomBytes } from 'node:crypto';
import type { Item, Key } from '../../src/ports/metadata-table.ts';

export const { signal } = new AbortController();

/** A key that no other test has. */
export function freshKey(): Key {
  return { pk: `t#${randomBytes(8).toString('hex')}`, sk: 'item' };
}

/** The item with the key's own attributes, as the table gives it back. */
export function whole(key: Key, item: Item): Item {
  return { ...item, pk: key.pk, sk: key.sk };
}

export const TABLE_REFUSED = { name: 'KelpError', kind: 'invalid', code: 'table-refused' };

import { KelpError } from '../../model/errors.ts';
import { ITEM_BYTES_MAX } from '../../model/limits.ts';
import type { Condition, Item, Key, MetadataTable, Query, QueryPage, Update, WriteResult } from '../../ports/metadata-table.ts';
import { compareText } from './compare.ts';
import { applyUpdate, holds } from './interpreter.ts';
import { itemBytes } from './item-bytes.ts';

/** Items of one `pk`, and their sort keys in order. */
type Group = { readonly items: Map<string, Item>; readonly order: string[] };

/** A table in memory, for tests and simulation. Every call takes effect at once, in the order of the calls. */
export function createMemoryTable(): MetadataTable {
  const groups = new Map<string, Group>();

  const read = ({ pk, sk }: Key): Item | undefined => groups.get(pk)?.items.get(sk);

  return {
    async get(key, signal) {
      signal.throwIfAborted();
      return read(key);
    },
    async put(key: Key, item: Item, condition: Condition, signal): Promise<WriteResult> {
      signal.throwIfAborted();
      const whole = checked({ ...item, ...keyOf(key) });
      const old = read(key);
      if (!holds(old, condition)) return { applied: false, item: old };
      store(groups, key, whole);
      return { applied: true, item: whole };
    },
    async update(key: Key, update: Update, signal): Promise<WriteResult> {
      signal.throwIfAborted();
      const old = read(key);
      const result = applyUpdate(old, update);
      if (!result.applied) return result;
      const whole = checked(old === undefined ? { ...keyOf(key), ...result.item } : result.item);
      store(groups, key, whole);
      return { applied: true, item: whole };
    },
    async delete(key: Key, condition: Condition, signal): Promise<WriteResult> {
      signal.throwIfAborted();
      const old = read(key);
      if (!holds(old, condition)) return { applied: false, item: old };
      erase(groups, key);
      return { applied: true, item: old ?? {} };
    },
    async query(query: Query, signal): Promise<QueryPage> {
      signal.throwIfAborted();
      const group = groups.get(query.pk);
      return group === undefined ? { items: [], more: false } : page(group, query);
    },
  };
}

function keyOf({ pk, sk }: Key): Key {
  if (pk === '' || sk === '') throw new KelpError('invalid', 'table-refused', 'a key may not be empty');
  return { pk, sk };
}

function checked(item: Item): Item {
  if (itemBytes(item) > ITEM_BYTES_MAX) throw new KelpError('invalid', 'table-refused', 'the item is too large');
  return item;
}

function store(groups: Map<string, Group>, { pk, sk }: Key, item: Item): void {
  let group = groups.get(pk);
  if (group === undefined) {
    group = { items: new Map(), order: [] };
    groups.set(pk, group);
  }
  if (!group.items.has(sk)) group.order.splice(firstAtOrAbove(group.order, sk), 0, sk);
  group.items.set(sk, item);
}

function erase(groups: Map<string, Group>, { pk, sk }: Key): void {
  const group = groups.get(pk);
  if (group?.items.delete(sk) !== true) return;
  group.order.splice(firstAtOrAbove(group.order, sk), 1);
  if (group.order.length === 0) groups.delete(pk);
}

function page(group: Group, query: Query): QueryPage {
  const { from, to, limit } = query;
  const begin = from === undefined ? 0 : firstAtOrAbove(group.order, from);
  let end = group.order.length;
  if (to !== undefined) {
    end = firstAtOrAbove(group.order, to);
    if (group.order[end] === to) end++;
  }
  const inRange = group.order.slice(begin, end);
  const found = query.descending === true ? inRange.toReversed() : inRange;
  return { items: found.slice(0, limit).map((sk) => group.items.get(sk) as Item), more: found.length > limit };
}

function firstAtOrAbove(sorted: readonly string[], sk: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareText(sorted[middle] as string, sk) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

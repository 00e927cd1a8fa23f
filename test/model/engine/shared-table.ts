import { applyUpdate, holds } from '../../../src/adapters/memory/interpreter.ts';
import type { Condition, Item, Key, Query, Update } from '../../../src/ports/metadata-table.ts';
import { createInterner } from './intern.ts';

/** What a process asks of the table: the port's calls as values. */
export type Request =
  | { readonly op: 'get'; readonly key: Key }
  | { readonly op: 'query'; readonly query: Query }
  | { readonly op: 'put'; readonly key: Key; readonly item: Item; readonly condition: Condition }
  | { readonly op: 'update'; readonly key: Key; readonly update: Update }
  | { readonly op: 'delete'; readonly key: Key; readonly condition: Condition };

export type Answer =
  | { readonly answer: 'item'; readonly item: Item | undefined }
  | { readonly answer: 'items'; readonly items: readonly Item[]; readonly more: boolean }
  | { readonly answer: 'applied' | 'refused'; readonly item: Item | undefined }
  /** Not answered: the write was applied, or may be later, or never. */
  | { readonly answer: 'lost' }
  /** Surely not done. */
  | { readonly answer: 'failed' }
  /** Not answered, and its caller stops waiting for everything. */
  | { readonly answer: 'aborted' };

/** Item number by slot; 0: no item. Trailing zeros are cut, so that slots found later change nothing. */
export type Items = readonly number[];

export const NO_ITEM = 0;
const REFUSED = -1;

/** Tells what is wrong with one write of an item, whatever happened before. */
export type WriteCheck = (key: Key, before: Item | undefined, after: Item | undefined) => string | undefined;

export type SharedTable = ReturnType<typeof createSharedTable>;

/**
 * The table as the search needs it: items, requests and keys are numbers, and what a request does to an item is worked out
 * once. The meaning of conditions and updates is the memory adapter's.
 */
export function createSharedTable(check: WriteCheck) {
  const items = createInterner<{ readonly item: Item | undefined }>();
  items.id({ item: undefined });
  const requests = createInterner<Request>();
  const keys: Key[] = [];
  const slots = new Map<string, number>();
  const effects = new Map<number, { readonly item: number; readonly fault: string | undefined }>();
  const requestSlots: number[] = [];

  const slotOf = (key: Key): number => {
    const text = `${key.pk} ${key.sk}`;
    let slot = slots.get(text);
    if (slot === undefined) {
      slot = keys.length;
      keys.push(key);
      slots.set(text, slot);
    }
    return slot;
  };
  const itemOf = (id: number): Item | undefined => items.get(id).item;
  const itemId = (item: Item | undefined): number => (item === undefined ? NO_ITEM : items.id({ item }));

  /** What a write does to an item: the item's number afterwards, or undefined where it is refused. */
  const effect = (request: number, item: number): { readonly item: number; readonly fault: string | undefined } | undefined => {
    const memo = request * 0x400000 + item;
    let known = effects.get(memo);
    if (known === undefined) {
      const before = itemOf(item);
      const wanted = requests.get(request);
      const after = write(wanted, before);
      known =
        after === undefined
          ? { item: REFUSED, fault: undefined }
          : { item: itemId(after.item), fault: check(keyOf(wanted), before, after.item) };
      effects.set(memo, known);
    }
    return known.item === REFUSED ? undefined : known;
  };

  return {
    slotOf,
    slotCount: (): number => keys.length,
    keyOfSlot: (slot: number): Key | undefined => keys[slot],
    itemOf,
    itemId,
    requestId: (request: Request): number => requests.id(request),
    request: (id: number): Request => requests.get(id),
    /** Of a request that has a key. */
    slotOfRequest: (id: number): number => (requestSlots[id] ??= slotOf(keyOf(requests.get(id)))),
    effect,
    /** Items of a query's answer, by number. */
    select(query: Query, now: Items): { readonly ids: readonly number[]; readonly more: boolean } {
      const { pk, from, to, descending, limit } = query;
      const found: { readonly sk: string; readonly id: number }[] = [];
      for (const [slot, key] of keys.entries()) {
        const id = now[slot] ?? NO_ITEM;
        if (id === NO_ITEM || key.pk !== pk) continue;
        if ((from === undefined || key.sk >= from) && (to === undefined || key.sk <= to)) found.push({ sk: key.sk, id });
      }
      found.sort((a, b) => (a.sk < b.sk ? -1 : 1));
      if (descending === true) found.reverse();
      return { ids: found.slice(0, limit).map(({ id }) => id), more: found.length > limit };
    },
  };
}

function keyOf(request: Request): Key {
  if (request.op === 'query') throw new Error('a query has no key');
  return request.key;
}

/** Undefined: refused. */
function write(request: Request, before: Item | undefined): { readonly item: Item | undefined } | undefined {
  if (request.op === 'update') {
    const result = applyUpdate(before, request.update);
    return result.applied ? { item: { ...result.item, ...request.key } } : undefined;
  }
  if (request.op === 'put') return holds(before, request.condition) ? { item: { ...request.item, ...request.key } } : undefined;
  if (request.op === 'delete') return holds(before, request.condition) ? { item: undefined } : undefined;
  throw new Error(`${request.op} writes nothing`);
}

/** The items with another one in this slot. */
export function withItem(items: Items, slot: number, item: number): Items {
  const next = items.slice();
  while (next.length <= slot) next.push(NO_ITEM);
  next[slot] = item;
  while (next.at(-1) === NO_ITEM) next.pop();
  return next;
}

import type { Bytes } from '../model/message.ts';

/** A stored value: what a DynamoDB item can hold, as plain JavaScript. Numbers are integers up to 2^53 − 1. */
export type Value = string | number | boolean | null | Bytes | readonly Value[] | { readonly [name: string]: Value };
export type Item = { readonly [name: string]: Value };
export type Key = { readonly pk: string; readonly sk: string };

/** Where in an item: attribute names and list indexes, outermost first. */
export type Path = readonly (string | number)[];

/** One clause of a condition; a condition holds when all of its clauses hold. A missing path fails every comparison. */
export type Clause =
  | { readonly op: 'exists' | 'missing'; readonly path: Path }
  | { readonly op: '=' | '<' | '<=' | '>' | '>='; readonly path: Path; readonly value: Value }
  /** The number of members of the map or list at the path, compared. */
  | { readonly op: 'size<'; readonly path: Path; readonly value: number }
  | { readonly op: 'or'; readonly any: readonly Condition[] };
export type Condition = readonly Clause[];

/**
 * One change of an update. Right-hand paths and `add` read the item as it was before the update.
 * A parent of the path must exist (a missing map fails the update as `invalid`); `set` and `copy` make a missing last
 * attribute, or the next member of a list; `remove` takes attributes and members of maps, not of lists, and does nothing
 * where there is none. No path may be a prefix of another one. An update whose condition holds makes a missing item.
 */
export type Change =
  | { readonly op: 'set'; readonly path: Path; readonly value: Value }
  /** Copies the old value at `from` (it must exist). */
  | { readonly op: 'copy'; readonly path: Path; readonly from: Path }
  /** Old number at the path (it must exist) plus `value`. */
  | { readonly op: 'add'; readonly path: Path; readonly value: number }
  | { readonly op: 'remove'; readonly path: Path };

export type Update = { readonly condition: Condition; readonly changes: readonly Change[] };

/**
 * Applied: `item` is the whole item after the write. Refused: the condition did not hold on `item`, the whole item as it
 * was then (undefined: there was none); never trust *why*, look at it.
 */
export type WriteResult = { readonly applied: true; readonly item: Item } | { readonly applied: false; readonly item: Item | undefined };

/**
 * Items under (pk, sk), changed by single-item conditional writes only. All reads are strong.
 *
 * One call is one attempt. Errors (KelpError): `throttled`/`table-throttled` and `conflict`/`table-conflict`: surely not
 * applied, ask again; `indefinite`/`table-indefinite` (time-out, 5xx, connection lost in mid-flight): a write may have been
 * applied, or may be later; for reads `unavailable`/`table-unavailable`; `unavailable` also for a write whose connection
 * was refused (surely not applied); `invalid`/`table-refused`: a bug in the caller. After an abort: for a read the signal's
 * reason; for a write that was sent `indefinite` with the reason as cause.
 */
export type MetadataTable = {
  get(key: Key, signal: AbortSignal): Promise<Item | undefined>;
  /** Puts the whole item (`pk` and `sk` are added from the key) if the condition holds on the item that is there. */
  put(key: Key, item: Item, condition: Condition, signal: AbortSignal): Promise<WriteResult>;
  update(key: Key, update: Update, signal: AbortSignal): Promise<WriteResult>;
  /** Deletes if the condition holds (a missing item has no attributes). `applied` gives the item that was deleted, or `{}`. */
  delete(key: Key, condition: Condition, signal: AbortSignal): Promise<WriteResult>;
  /** Items of one `pk` with `from ≤ sk ≤ to` in sort-key order, at most `limit` of them. */
  query(query: Query, signal: AbortSignal): Promise<QueryPage>;
};

export type Query = {
  readonly pk: string;
  readonly from?: string;
  readonly to?: string;
  readonly descending?: boolean;
  readonly limit: number;
};
export type QueryPage = {
  readonly items: readonly Item[];
  /** Whether more items lie beyond `limit` (or the server's own page size): go on from behind the last `sk`. */
  readonly more: boolean;
};

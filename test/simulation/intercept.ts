import type { Item, Key, MetadataTable, Query, Update, WriteResult } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';

/** One call of a port, as a value. */
export type TableCall = { /** As in `update head`. */ readonly name: string } & (
  | { readonly op: 'get'; readonly key: Key }
  | { readonly op: 'put'; readonly key: Key; readonly item: Item }
  | { readonly op: 'update'; readonly key: Key; readonly update: Update }
  | { readonly op: 'delete'; readonly key: Key }
  | { readonly op: 'query'; readonly query: Query }
);
export type StoreCall = { readonly op: 'put' | 'get' | 'head' | 'list' | 'delete'; readonly key: string };

/** Stands around a call: makes it once, never, later or twice, and answers what it likes. */
export type Around<Call> = <R>(call: Call, make: Make<R>, signal: AbortSignal) => Promise<R>;
/** `detached`: as a request that goes on in the network though its caller has gone. */
export type Make<R> = (detached?: 'detached') => Promise<R>;

const forEver = new AbortController().signal;

export function interceptTable(table: MetadataTable, around: Around<TableCall>): MetadataTable {
  const call = <R>(what: TableCall, signal: AbortSignal, make: (signal: AbortSignal) => Promise<R>): Promise<R> =>
    around(what, (detached) => make(detached === undefined ? signal : forEver), signal);
  return {
    get: (key, signal) => call({ name: nameOf('get', key.pk), op: 'get', key }, signal, (own) => table.get(key, own)),
    query: (query, signal) => call({ name: nameOf('query', query.pk), op: 'query', query }, signal, (own) => table.query(query, own)),
    put: (key, item, condition, signal) =>
      call<WriteResult>({ name: nameOf('put', key.pk), op: 'put', key, item }, signal, (own) => table.put(key, item, condition, own)),
    update: (key, update, signal) =>
      call<WriteResult>({ name: nameOf('update', key.pk), op: 'update', key, update }, signal, (own) => table.update(key, update, own)),
    delete: (key, condition, signal) =>
      call<WriteResult>({ name: nameOf('delete', key.pk), op: 'delete', key }, signal, (own) => table.delete(key, condition, own)),
  };
}

export function interceptStore(store: ObjectStore, around: Around<StoreCall>): ObjectStore {
  const call = <R>(what: StoreCall, signal: AbortSignal, make: (signal: AbortSignal) => Promise<R>): Promise<R> =>
    around(what, (detached) => make(detached === undefined ? signal : forEver), signal);
  return {
    put: (key, body, signal) => call({ op: 'put', key }, signal, (own) => store.put(key, body, own)),
    getRange: (key, start, length, signal) => call({ op: 'get', key }, signal, (own) => store.getRange(key, start, length, own)),
    head: (key, signal) => call({ op: 'head', key }, signal, (own) => store.head(key, own)),
    list: (prefix, page, signal) => call({ op: 'list', key: prefix }, signal, (own) => store.list(prefix, page, own)),
    delete: (key, signal) => call({ op: 'delete', key }, signal, (own) => store.delete(key, own)),
  };
}

/** What the call is about, in one word each: `update head`, `put page`, `get topic`, `query pages`. */
export const nameOf = (op: TableCall['op'], pk: string): string => `${op} ${KINDS[pk.slice(0, 1)] ?? pk}`;

const KINDS: Readonly<Record<string, string>> = {
  h: 'head',
  p: 'page',
  t: 'topic',
  n: 'name',
  s: 'segment',
  l: 'line',
  i: 'request',
  d: 'deletion',
  a: 'served',
  b: 'broker',
  u: 'upload',
};

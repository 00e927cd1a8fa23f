import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';

/** Is told of each call. */
export type Watch = <T>(call: Promise<T>) => Promise<T>;

/** So that somebody knows of calls that nobody waits for any more: of several at once, one has failed. */
export const watchedTable = (table: MetadataTable, watch: Watch): MetadataTable => ({
  get: (key, signal) => watch(table.get(key, signal)),
  put: (key, item, condition, signal) => watch(table.put(key, item, condition, signal)),
  update: (key, update, signal) => watch(table.update(key, update, signal)),
  delete: (key, condition, signal) => watch(table.delete(key, condition, signal)),
  query: (query, signal) => watch(table.query(query, signal)),
});

/** As {@link watchedTable}. */
export const watchedStore = (store: ObjectStore, watch: Watch): ObjectStore => ({
  put: (key, body, signal) => watch(store.put(key, body, signal)),
  getRange: (key, start, length, signal) => watch(store.getRange(key, start, length, signal)),
  head: (key, signal) => watch(store.head(key, signal)),
  list: (prefix, page, signal) => watch(store.list(prefix, page, signal)),
  delete: (key, signal) => watch(store.delete(key, signal)),
});

import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';

/** Is told of each call. */
export type Watch = <T>(call: Promise<T>) => Promise<T>;

/** So that somebody knows of calls that nobody waits for any more: of several at once, one has failed. */
export const watchedTable = (table: MetadataTable, watch: Watch): MetadataTable => ({
  get: (...asked) => watch(table.get(...asked)),
  put: (...asked) => watch(table.put(...asked)),
  update: (...asked) => watch(table.update(...asked)),
  delete: (...asked) => watch(table.delete(...asked)),
  query: (...asked) => watch(table.query(...asked)),
});

/** As {@link watchedTable}. */
export const watchedStore = (store: ObjectStore, watch: Watch): ObjectStore => ({
  put: (...asked) => watch(store.put(...asked)),
  getRange: (...asked) => watch(store.getRange(...asked)),
  list: (...asked) => watch(store.list(...asked)),
  delete: (...asked) => watch(store.delete(...asked)),
});

import { itemBytes } from '../../src/adapters/memory/item-bytes.ts';
import type { Item, Key, MetadataTable, WriteResult } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';

/** What was asked of both stores, and what DynamoDB would charge for it. */
export type Asked = { puts: number; gets: number; writes: number; writeUnits: number; reads: number; readUnits: number };

export type Metered = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  /** Since the last time; from now on it counts anew. */
  take(): Asked;
};

const WRITE_UNIT_BYTES = 1_024;
/** Of a strong read. */
const READ_UNIT_BYTES = 4_096;
const nothing = (): Asked => ({ puts: 0, gets: 0, writes: 0, writeUnits: 0, reads: 0, readUnits: 0 });
const unitsOf = (bytes: number, unitBytes: number): number => Math.max(1, Math.ceil(bytes / unitBytes));
const bytesOf = (item: Item | undefined): number => (item === undefined ? 0 : itemBytes(item));

/** A write costs by the item as it was or as it is afterwards, whichever is larger, also where its condition fails. */
export function meterStores(table: MetadataTable, store: ObjectStore): Metered {
  let asked = nothing();
  const sizes = new Map<string, number>();

  async function write(key: Key, made: Promise<WriteResult>): Promise<WriteResult> {
    const result = await made;
    const [name, after] = [`${key.pk} ${key.sk}`, bytesOf(result.item)];
    asked.writes += 1;
    asked.writeUnits += unitsOf(Math.max(sizes.get(name) ?? 0, after), WRITE_UNIT_BYTES);
    sizes.set(name, after);
    return result;
  }

  function read(bytes: number): void {
    asked.reads += 1;
    asked.readUnits += unitsOf(bytes, READ_UNIT_BYTES);
  }

  return {
    table: {
      async get(key, signal) {
        const item = await table.get(key, signal);
        read(bytesOf(item));
        return item;
      },
      async query(query, signal) {
        const page = await table.query(query, signal);
        read(page.items.reduce((sum, item) => sum + itemBytes(item), 0));
        return page;
      },
      put: (key, ...rest) => write(key, table.put(key, ...rest)),
      update: (key, ...rest) => write(key, table.update(key, ...rest)),
      delete: (key, ...rest) => write(key, table.delete(key, ...rest)),
    },
    store: {
      ...store,
      put(...put) {
        asked.puts += 1;
        return store.put(...put);
      },
      head(...head) {
        asked.gets += 1;
        return store.head(...head);
      },
      getRange(...get) {
        asked.gets += 1;
        return store.getRange(...get);
      },
    },
    take() {
      const taken = asked;
      asked = nothing();
      return taken;
    },
  };
}

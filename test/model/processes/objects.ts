import { parquetReadObjects } from 'hyparquet';
import { justAfter } from '../../../src/format/item-key.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { FileCompression } from '../../../src/ports/file-compression.ts';
import type { Item, Key, MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';
import { TOPIC } from './broker.ts';

// Objects stand in the shared table as well, so that what is done to them may be lost, late or doubled like any other write.

const OBJECTS = `o#${TOPIC}`;
const PAGE_MAX = 10;

const at = (sk: string): Key => ({ pk: OBJECTS, sk });

/** An object that a scope begins with, of which nobody reads the bytes. */
export const storedObject = (key: string): readonly [Key, Item] => [at(key), { size: 1 }];

/** As it is: a state is looked at, never sent. */
export const noFileCompression: FileCompression = { compress: (bytes) => bytes, decompress: (bytes) => bytes };

export function objectStore(table: MetadataTable): ObjectStore {
  return {
    async put(key, body, signal) {
      const bytes = new Uint8Array(Buffer.concat(body));
      const item: Item = key.endsWith('.parquet') ? { size: bytes.length, bytes, rows: await rowsOf(bytes) } : { size: 1 };
      await table.put(at(key), item, [], signal);
    },
    async getRange(key, start, length, signal) {
      const item = await table.get(at(key), signal);
      if (item === undefined) throw new KelpError('not-found', 'object-not-found', `no object ${key}`);
      return (item['bytes'] as Uint8Array<ArrayBuffer>).subarray(start, start + length);
    },
    async head(key, signal) {
      const item = await table.get(at(key), signal);
      return item === undefined ? undefined : { bytes: Number(item['size']), sha256: undefined };
    },
    async list(prefix, { after }, signal) {
      const query = { pk: OBJECTS, from: after === undefined ? prefix : justAfter(after), to: `${prefix}~`, limit: PAGE_MAX };
      const { items } = await table.query(query, signal);
      return { objects: items.map((item) => ({ key: String(item['sk']), bytes: Number(item['size']) })) };
    },
    delete: async (key, signal) => void (await table.delete(at(key), [], signal)),
  };
}

/** What other programs find in a file, as stored-archive.ts compares it. */
async function rowsOf(file: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const compressors = { ZSTD: (bytes: Uint8Array): Uint8Array => bytes };
  const rows = await parquetReadObjects({ file: file.buffer, compressors, utf8: false, columns: ['kelp_offset', 'kelp_value'] });
  return rows.map((row) => `${Buffer.from(row['kelp_value'] as Uint8Array).toString('latin1')}@${String(row['kelp_offset'])}`);
}

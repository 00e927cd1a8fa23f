import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { fileMetadata, parseMetadata, signFooter } from '../../src/format/archived-file/file-metadata.ts';
import { fileSchema } from '../../src/format/archived-file/file-schema.ts';
import { type ArchivedFile, dateOf } from '../../src/model/archived-file.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { openFile } from './some-file.ts';

const file: ArchivedFile = {
  topic: 'tabcdefghijklmno' as TopicId,
  segment: segmentId(7),
  date: dateOf(0),
  first: 2 ** 53 - 2,
  last: 2 ** 53 - 1,
};
const entries = fileMetadata(file, { misfits: 3, checksums: ['00000001', 'ffffffff'] });
const CORRUPT = { kind: 'corrupt', code: 'corrupt' };

/** A file without rows, with another footer than the product's: what a program makes that is newer, or has a fault. */
function fileWith(metadata: { key: string; value: string }[], columns = fileSchema([])): Uint8Array {
  const sink = new ByteWriter();
  const parquet = new ParquetWriter({ writer: sink, schema: columns, kvMetadata: metadata });
  void parquet.finish();
  return Buffer.concat([sink.getBytes().subarray(0, 4), signFooter(sink.getBytes().subarray(4))]);
}

describe('metadata of an archived file', () => {
  test('comes back as it was', () => {
    expect(parseMetadata(entries)).toEqual({ file, misfits: 3, checksums: ['00000001', 'ffffffff'] });
  });

  test.each([
    ['kelp_version', '2'],
    ['kelp_version', ''],
    ['kelp_topic', 'T'],
    ['kelp_segment', ''],
    ['kelp_first', '-1'],
    ['kelp_first', '1e3'],
    ['kelp_last', '9007199254740993'],
    ['kelp_misfits', ''],
  ])('is refused where %s is "%s"', (key, value) => {
    const wrong = entries.map((entry) => (entry.key === key ? { key, value } : entry));
    expect(() => parseMetadata(wrong)).toThrow(expect.objectContaining(CORRUPT) as Error);
  });

  test('is refused with a right checksum where the file has other columns, or no row groups', () => {
    const renamed = fileSchema([]).map((column) => (column.name === 'kelp_key' ? { ...column, name: 'key' } : column));
    const [root = { name: 'kelp' }, ...own] = fileSchema([]);
    const more = [{ ...root, num_children: Number(root.num_children) + 1 }, ...own, { name: 'extra', type: 'INT64' } as const];
    for (const [object, why] of [
      [fileWith(entries, renamed), 'it has other columns'],
      [fileWith(entries, more), 'it has other columns'],
      [fileWith(entries), 'its row groups end elsewhere'],
      [fileWith([{ key: 'kelp_version', value: '2' }, ...entries.slice(1)]), 'newer than this program'],
    ] as const) {
      expect(() => openFile(object)).toThrow(
        expect.objectContaining({ ...CORRUPT, message: expect.stringContaining(why) as string }) as Error,
      );
    }
  });
});

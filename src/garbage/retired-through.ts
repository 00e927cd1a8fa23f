import { decodeFileRecord } from '../format/file-record-item.ts';
import { fileRecordSortKey, pagesPartition } from '../format/item-key.ts';
import type { Archive } from '../model/archive.ts';
import { FILE_RECORDS_READ_MAX } from '../model/archive-limits.ts';
import type { GarbageDeps } from './topic-work.ts';

/** The end of the last record below `ah` that was written or dropped by then: what is below it was in a file, or gone, for that long. */
export async function retiredThrough(
  { table }: Pick<GarbageDeps, 'table'>,
  { topic, segment, through }: Archive,
  beforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  for (let end = through; end > 0;) {
    const range = { from: fileRecordSortKey(0), to: fileRecordSortKey(end - 1) };
    const query = { pk: pagesPartition(topic, segment), ...range, descending: true, limit: FILE_RECORDS_READ_MAX };
    const records = (await table.query(query, signal)).items.map(decodeFileRecord);
    const retired = records.find(({ last, atMs }) => last < through && atMs <= beforeMs);
    if (retired !== undefined) return retired.last + 1;
    end = records.at(-1)?.first ?? 0;
  }
  return 0;
}

import type { GroupRows } from '../format/archived-file/read-group.ts';
import { BATCH_HEADER_BYTES } from '../format/record-batch-header.ts';
import { FILE_BATCH_BYTES_MAX } from '../model/archive-limits.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { BatchDecoder } from './decode-batch.ts';
import type { BatchSlice } from './page.ts';
import { addSlice, boundsOf, isDone, passOver } from './part-progress.ts';
import type { TakeInto } from './read-batches.ts';
import type { TakeBounds } from './take-batch.ts';

/**
 * Takes what fits of a row group, as batches that begin where the part stands and whose offsets have no gap; what lies between rows is
 * passed over. False where the part ends with it.
 */
export function takeRows(
  decoder: BatchDecoder,
  { segment, rows }: { readonly segment: SegmentId; readonly rows: GroupRows },
  { part, page }: Pick<TakeInto<BatchSlice>, 'part' | 'page'>,
): boolean {
  let row = rowFrom(rows, part.next);
  while (row < rows.count) {
    if (rows.offsetAt(row) > part.next) passOver(part, rows.offsetAt(row));
    if (isDone(part, page)) return false;
    const first = row;
    const { count, bytes } = nextBatch(rows, first, boundsOf(part, page));
    if (count === 0) return false;
    const slice = sliceOf(segment, rows, { first, count });
    if (!page.whole)
      decoder.give(
        slice,
        Array.from({ length: count }, (_, index) => rows.messageAt(first + index)),
      );
    addSlice({ part, page }, slice, page.whole ? slice.bytes.length : bytes);
    row += count;
  }
  return true;
}

/** The first row with this offset or a later one. */
function rowFrom(rows: GroupRows, offset: number): number {
  let low = 0;
  let high = rows.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.offsetAt(middle) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many rows come as the next batch, and what they take at most. */
function nextBatch(rows: GroupRows, first: number, { room, least }: TakeBounds): { readonly count: number; readonly bytes: number } {
  const countMax = Math.max(room.messages, Math.min(least.messages, 1));
  const bytesMax = Math.min(room.bytes, FILE_BATCH_BYTES_MAX);
  let count = 0;
  let bytes = BATCH_HEADER_BYTES;
  while (first + count < rows.count && count < countMax && rows.offsetAt(first + count) === rows.offsetAt(first) + count) {
    const more = bytes + rows.bytesAt(first + count);
    if (more > bytesMax && (count > 0 || (more > room.bytes && more > least.bytes))) break;
    bytes = more;
    count += 1;
  }
  return { count, bytes };
}

/** Only who hands out batches needs the bytes of one. */
function sliceOf(segment: SegmentId, rows: GroupRows, { first, count }: { readonly first: number; readonly count: number }): BatchSlice {
  const baseOffset = rows.offsetAt(first);
  let encoded: Bytes | undefined;
  return {
    segment,
    baseOffset,
    count,
    from: baseOffset,
    to: baseOffset + count,
    committedMs: rows.committedAt(first),
    get bytes() {
      encoded ??= rows.toBatch(first, count);
      return encoded;
    },
  };
}

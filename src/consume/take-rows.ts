import type { GroupRows } from '../format/archived-file/read-group.ts';
import { BATCH_HEADER_BYTES } from '../format/record-batch-header.ts';
import { encodePlainBatch } from '../format/record-batch-encode.ts';
import { FILE_BATCH_BYTES_MAX } from '../model/archive-limits.ts';
import type { ArchivedMessage } from '../model/archived-file.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import type { BatchDecoder } from './decode-batch.ts';
import type { BatchSlice } from './page.ts';
import { addSlice, boundsOf, isDone, passOver } from './part-progress.ts';
import type { TakeInto } from './read-batches.ts';
import { messageBytes, type TakeBounds } from './take-batch.ts';

/** What a record takes at most beside its key, value and headers, and a header beside its name and value. */
const RECORD_MARKS_BYTES = 40;
const HEADER_MARKS_BYTES = 10;

type Batch = { readonly messages: readonly ArchivedMessage[]; readonly bytes: number };

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
    const { messages, bytes } = nextBatch(rows, row, { ...boundsOf(part, page), whole: page.whole });
    if (messages.length === 0) return false;
    const slice = sliceOf(segment, messages);
    decoder.give(slice, messages);
    addSlice({ part, page }, slice, page.whole ? slice.bytes.length : bytes);
    row += messages.length;
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

function nextBatch(rows: GroupRows, first: number, { room, least, whole }: TakeBounds & { readonly whole: boolean }): Batch {
  const messages: ArchivedMessage[] = [];
  const countMax = Math.max(room.messages, Math.min(least.messages, 1));
  const bytesMax = Math.min(room.bytes, FILE_BATCH_BYTES_MAX);
  let bytes = whole ? BATCH_HEADER_BYTES : 0;
  for (let row = first; row < rows.count && messages.length < countMax; row += 1) {
    if (rows.offsetAt(row) !== rows.offsetAt(first) + messages.length) break;
    const message = rows.messageAt(row);
    const size = whole ? recordBytes(message) : messageBytes(message);
    if (bytes + size > bytesMax && (messages.length > 0 || (bytes + size > room.bytes && size > least.bytes))) break;
    messages.push(message);
    bytes += size;
  }
  return { messages, bytes };
}

/** At most. */
const recordBytes = (message: StoredMessage): number =>
  RECORD_MARKS_BYTES + messageBytes(message) + message.headers.reduce((sum, { name }) => sum + HEADER_MARKS_BYTES + 2 * name.length, 0);

/** Only who hands out batches needs the bytes of one. */
function sliceOf(segment: SegmentId, messages: readonly ArchivedMessage[]): BatchSlice {
  const [first] = messages;
  const { offset: baseOffset = 0, committedMs = 0 } = first ?? {};
  const count = messages.length;
  let encoded: Bytes | undefined;
  return {
    segment,
    baseOffset,
    count,
    from: baseOffset,
    to: baseOffset + count,
    committedMs,
    get bytes() {
      encoded ??= encodePlainBatch(messages);
      return encoded;
    },
  };
}

import { BATCH_HEADER_BYTES, type BatchHeader, checkBatchCount, damagedBatch, readHeaderAlone } from '../format/record-batch-header.ts';
import type { Run } from '../model/head.ts';
import { READ_GAP_BYTES_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import { HEADERS_WINDOW_BYTES_MAX } from '../model/upload-limits.ts';

/** A batch of a run as its header says; `start`: in the object. */
export type RunHeader = { readonly start: number; readonly bytes: number; readonly count: number; readonly crc: number };

/** Bytes of an object from `start` on. */
export type Window = { readonly start: number; readonly bytes: Bytes };
/** Gets so many bytes of the object; fewer come where it ends before. */
export type ReadWindow = (start: number, length: number) => Promise<Bytes>;

/** What is read first of a run: all of it, where that costs less than coming again. */
export const firstWindowBytes = (run: Run): number => (run.bytes <= READ_GAP_BYTES_MAX ? run.bytes : BATCH_HEADER_BYTES);

/**
 * The headers of a run's batches, from its first window on: as few reads as may be where batches are small, nothing but headers where
 * they are large. Error `invalid-batch`: they are not those of a run of so many bytes and messages. What else may be wrong
 * with a header shows only with its whole batch, whose checksum it is in.
 */
export async function walkHeaders(run: Run, first: Bytes, read: ReadWindow): Promise<RunHeader[]> {
  const headers: RunHeader[] = [];
  const end = run.start + run.bytes;
  let window: Window = { start: run.start, bytes: first };
  let count = 0;
  for (let at = run.start; at < end;) {
    if (!holdsHeader(window, at)) window = { start: at, bytes: await read(at, nextBytes(run, at, headers.length)) };
    const header = checkedHeader(window, at, end);
    headers.push({ start: at, bytes: header.bytes, count: header.count, crc: header.crc });
    count += header.count;
    at += header.bytes;
  }
  if (count !== run.count) throw damagedBatch('recordsCount', `${count} records in a run of ${run.count}`);
  return headers;
}

const holdsHeader = ({ start, bytes }: Window, at: number): boolean => at + BATCH_HEADER_BYTES <= start + bytes.length;

/** By the batches so far, there are several headers in a window, or just the next one. */
function nextBytes(run: Run, at: number, batches: number): number {
  const left = run.start + run.bytes - at;
  const isDense = batches > 0 && (at - run.start) / batches <= READ_GAP_BYTES_MAX;
  return Math.min(left, isDense ? HEADERS_WINDOW_BYTES_MAX : BATCH_HEADER_BYTES);
}

function checkedHeader(window: Window, at: number, end: number): BatchHeader {
  const header = readHeaderAlone(window.bytes, at - window.start);
  if (at + header.bytes > end) throw damagedBatch('batchLength', `the length says ${header.bytes} bytes, ${end - at} are left of the run`);
  checkBatchCount(header);
  if (header.codec === undefined || header.flags !== 0) throw damagedBatch('attributes', 'no publish lets such attributes through');
  return header;
}

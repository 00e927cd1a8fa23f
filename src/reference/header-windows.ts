import { BATCH_HEADER_BYTES } from '../format/record-batch-header.ts';
import { HEADERS_WINDOW_BYTES_MAX, UPLOAD_HEADERS_GAP_BYTES_MAX } from '../model/upload-limits.ts';
import type { DeclaredBatch } from '../model/upload.ts';

/** A stretch of an object that holds the headers of so many batches; `first`: the place of the first of them among all. */
export type HeaderWindow = { readonly start: number; readonly bytes: number; readonly first: number; readonly count: number };

/** What is to be read for the headers of batches that lie one behind the other: of small neighbours all in one. */
export function headerWindows(batches: readonly Pick<DeclaredBatch, 'start'>[]): readonly HeaderWindow[] {
  const windows: HeaderWindow[] = [];
  for (const [index, { start }] of batches.entries()) {
    const last = windows.at(-1);
    if (last !== undefined && isNear(last, start)) {
      windows[windows.length - 1] = { ...last, bytes: start + BATCH_HEADER_BYTES - last.start, count: last.count + 1 };
    } else windows.push({ start, bytes: BATCH_HEADER_BYTES, first: index, count: 1 });
  }
  return windows;
}

const isNear = (window: HeaderWindow, start: number): boolean =>
  start - window.start - window.bytes <= UPLOAD_HEADERS_GAP_BYTES_MAX &&
  start + BATCH_HEADER_BYTES - window.start <= HEADERS_WINDOW_BYTES_MAX;

import type { BatchSlice } from '../consume/page.ts';
import { writeInt64 } from '../format/record-batch-header.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';

/** A batch that is larger is sent from where it lies: a copy of it costs more than one more piece. */
const COPY_BYTES_MAX = 65_536;
const OFFSET_BYTES = 8;

/**
 * Whole batches, one after the other, each with its offset in the segment, as pieces to be sent in their order. Of a large
 * batch only the offset is written anew; its other bytes are those that were read, which nobody may change.
 */
export function batchPieces(slices: readonly BatchSlice[]): readonly Bytes[] {
  const pieces: Bytes[] = [];
  let small: BatchSlice[] = [];
  for (const slice of slices) {
    small.push(slice);
    if (slice.bytes.length <= COPY_BYTES_MAX) continue;
    pieces.push(joinBatches(small, OFFSET_BYTES), slice.bytes.subarray(OFFSET_BYTES));
    small = [];
  }
  if (small.length > 0) pieces.push(joinBatches(small));
  return pieces;
}

/** Whole batches in one piece; of the last one only the first `lastBytes`. */
function joinBatches(slices: readonly BatchSlice[], lastBytes = Infinity): Bytes {
  const last = slices.at(-1);
  const parts = slices.map((slice) => (slice === last ? slice.bytes.subarray(0, lastBytes) : slice.bytes));
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  const view = new DataView(joined.buffer);
  let at = 0;
  for (const [index, part] of parts.entries()) {
    joined.set(part, at);
    writeInt64(view, at, slices[index]?.baseOffset ?? 0);
    at += part.length;
  }
  return joined;
}

/** Batches of several segments: each stretch of one segment behind a line that says whose and which offsets they are. */
export function frameBatches(slices: readonly BatchSlice[]): Bytes {
  const parts: Bytes[] = [];
  for (const { segment, from, to, batches } of stretchesOf(slices)) {
    const joined = joinBatches(batches);
    parts.push(Buffer.from(`${segment} ${from} ${to} ${joined.length}\n`, 'latin1'), joined);
  }
  return Buffer.concat(parts);
}

type Stretch = { readonly segment: SegmentId; readonly batches: BatchSlice[]; readonly from: number; to: number };

/** Neighbours of one segment whose offsets adjoin: within a stretch nothing needs to be said about a single batch. */
function stretchesOf(slices: readonly BatchSlice[]): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (const slice of slices) {
    const last = stretches.at(-1);
    if (last !== undefined && last.segment === slice.segment && last.to === slice.from) {
      last.batches.push(slice);
      last.to = slice.to;
    } else stretches.push({ segment: slice.segment, batches: [slice], from: slice.from, to: slice.to });
  }
  return stretches;
}

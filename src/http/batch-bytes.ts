import type { BatchSlice } from '../consume/page.ts';
import { writeInt64 } from '../format/record-batch-header.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';

/** Whole batches, one after the other, each with its offset in the segment: the one copy that a raw read makes. */
export function joinBatches(slices: readonly BatchSlice[]): Bytes {
  const joined = new Uint8Array(slices.reduce((sum, { bytes }) => sum + bytes.length, 0));
  const view = new DataView(joined.buffer);
  let at = 0;
  for (const { bytes, baseOffset } of slices) {
    joined.set(bytes, at);
    writeInt64(view, at, baseOffset);
    at += bytes.length;
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

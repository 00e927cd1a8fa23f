import type { SegmentId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { CommitMember } from './commit-outcome.ts';
import type { Part } from './part.ts';

/** A part's place in the group's object. */
export type PlacedPart = { readonly part: Part; readonly member: CommitMember };

export type SegmentLayout = { readonly segment: SegmentId; readonly parts: readonly PlacedPart[] };

/** What the object holds behind its header. */
export type Layout = {
  readonly segments: readonly SegmentLayout[];
  readonly body: readonly Bytes[];
};

/** Lays parts out segment by segment, so that each segment's batches are one stretch of the object; what is uploaded lies as it does. Pure. */
export function layOut(parts: readonly Part[], bodyStart: number): Layout {
  const bySegment = Map.groupBy(parts, (part) => part.segment);
  const body: Bytes[] = [];
  let start = bodyStart;
  const segments = [...bySegment].map(([segment, own]) => ({
    segment,
    parts: own.map((part) => {
      const { count, buckets, highestTimestampMs, producer } = part;
      const runs = part.uploaded?.runs ?? [{ start, bytes: part.bytes, count }];
      body.push(...part.batches);
      start += part.bytes;
      return { part, member: { runs, count, buckets, highestTimestampMs, ...(producer === undefined ? {} : { producer }) } };
    }),
  }));
  return { segments, body };
}

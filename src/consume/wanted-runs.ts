import { entryObjectKey, uploadOf } from '../format/object-key.ts';
import type { Entry, Run } from '../model/head.ts';
import type { CommitId, SegmentId, TopicId, UploadId } from '../model/ids.ts';
import type { ByteRange } from './object-ranges.ts';

/** A run of a segment, its place in the store, and the offset of its first message. */
export type WantedRun = {
  readonly segment: SegmentId;
  readonly cid: CommitId;
  readonly run: Run;
  readonly offset: number;
  readonly range: ByteRange;
  /** Of a client's own object: which one, and the offset of its first message. */
  readonly uploaded?: { readonly upload: UploadId; readonly first: number };
};

/** The runs that hold offsets from `from` on. */
export function wantedRuns(
  topic: TopicId,
  { segment, from, entries }: { readonly segment: SegmentId; readonly from: number; readonly entries: readonly Entry[] },
): WantedRun[] {
  return entries.flatMap(({ cid, object, offset, runs }) => {
    const key = entryObjectKey(topic, object);
    const upload = uploadOf(object);
    const uploaded = upload === undefined ? {} : { uploaded: { upload, first: offset } };
    let next = offset;
    const placed = runs.map((run): WantedRun => {
      next += run.count;
      return { segment, cid, run, offset: next - run.count, range: { key, start: run.start, length: run.bytes }, ...uploaded };
    });
    return placed.filter((run) => run.offset + run.run.count > from);
  });
}

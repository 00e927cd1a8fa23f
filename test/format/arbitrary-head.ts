import fc from 'fast-check';
import { encodeEntryBody } from '../../src/format/entry.ts';
import { encodeNewHead, encodeSuccessors } from '../../src/format/head-item.ts';
import { encodeLine } from '../../src/format/line.ts';
import { type Entry, entryCount, type Head, type Line, type Page, type Run } from '../../src/model/head.ts';
import { type BrokerId, type CommitId, type Minute, minuteOf, type ObjectId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS, PARTITIONS, TIMESTAMP_MS_MAX } from '../../src/model/limits.ts';
import type { Range, SegmentRange } from '../../src/model/topic.ts';
import type { Item } from '../../src/ports/metadata-table.ts';
import { arbitraryId } from './arbitrary-id.ts';

// Heads as commits and spills can leave them: entries side by side from the spill count to the tail, in any order of ids.

const count = fc.integer({ min: 1, max: 10_000 });
const timestamp = fc.integer({ min: 0, max: TIMESTAMP_MS_MAX });

export const arbitraryCommitId = fc.stringMatching(/^[0-9a-z]{22}$/) as fc.Arbitrary<CommitId>;
const arbitraryMinute: fc.Arbitrary<Minute> = timestamp.map(minuteOf).filter((minute) => minute.length === 8);
const arbitraryRun: fc.Arbitrary<Run> = fc.record({ start: fc.nat(), bytes: fc.integer({ min: 1, max: 16_777_216 }), count });

export const arbitraryRange: fc.Arbitrary<Range> = fc
  .tuple(fc.integer({ min: 0, max: PARTITIONS - 1 }), fc.integer({ min: 0, max: PARTITIONS - 1 }))
  .map(([a, b]) => ({ lo: Math.min(a, b), hi: Math.max(a, b) }));
export const arbitrarySegment = fc.integer({ min: 0, max: 36 ** 7 - 1 }).map(segmentId);
export const arbitrarySegmentRange: fc.Arbitrary<SegmentRange> = fc
  .tuple(arbitrarySegment, arbitraryRange)
  .map(([segment, range]) => ({ segment, ...range }));

const arbitraryBroker = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/) as fc.Arbitrary<BrokerId>;
/** Some with the brokers that serve it, some without. */
export const arbitraryServedRange: fc.Arbitrary<SegmentRange> = fc
  .tuple(arbitrarySegmentRange, fc.option(fc.array(arbitraryBroker, { maxLength: 3 }), { nil: undefined }))
  .map(([range, brokers]) => ({ ...range, ...(brokers === undefined ? {} : { brokers }) }));

export const arbitraryEntryAt = (offset: number): fc.Arbitrary<Entry> =>
  fc
    .record({
      cid: arbitraryCommitId,
      object: fc.record({ minute: arbitraryMinute, id: arbitraryId as fc.Arbitrary<ObjectId> }),
      runs: fc.array(arbitraryRun, { minLength: 1, maxLength: 3 }),
      mask: fc.option(fc.uint8Array({ minLength: 1, maxLength: 32 }), { nil: undefined }),
      highestTimestampMs: timestamp,
    })
    .map(({ mask, ...entry }) => ({ ...entry, offset, ...(mask === undefined ? {} : { mask }) }));

/** Entries with different ids, one after the other from `first` on. */
const arbitraryEntriesFrom = (first: number, maxLength = 20): fc.Arbitrary<Entry[]> =>
  fc.uniqueArray(arbitraryEntryAt(0), { maxLength, selector: (entry) => entry.cid }).map((entries) => {
    let offset = first;
    return entries.map((entry) => {
      const placed = { ...entry, offset };
      offset += entryCount(entry);
      return placed;
    });
  });

const epoch = fc.nat({ max: 1_000 });
export const arbitraryLine: fc.Arbitrary<Line> = fc.record({
  epoch,
  next: fc.maxSafeNat(),
  batches: fc.array(fc.record({ sequence: fc.maxSafeNat(), count, cid: arbitraryCommitId, delta: fc.nat({ max: 10_000 }) }), {
    maxLength: 5,
  }),
});
export const arbitraryProducer = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);

const guard = fc.oneof(fc.constant<CommitId | ''>(''), arbitraryCommitId);

export const arbitraryHead: fc.Arbitrary<Head> = fc.nat({ max: 2 ** 40 }).chain((spilled) =>
  fc
    .record({
      topic: arbitraryId as fc.Arbitrary<TopicId>,
      range: arbitrarySegmentRange,
      state: fc.constantFrom('pending', 'open', 'sealed'),
      deleted: fc.boolean(),
      guard,
      floor: fc.oneof(fc.constant<Minute | ''>(''), arbitraryMinute),
      spilledTimestampMs: fc.integer({ min: -1, max: TIMESTAMP_MS_MAX }),
      entries: arbitraryEntriesFrom(spilled),
      lines: fc.uniqueArray(fc.tuple(arbitraryProducer, arbitraryLine), { maxLength: 8, selector: ([producer]) => producer }),
      evictions: fc.nat(),
      load: fc.record({
        messages: fc.nat(),
        bytes: fc.nat(),
        commits: fc.nat(),
        buckets: fc.array(fc.nat(), { minLength: LOAD_BUCKETS, maxLength: LOAD_BUCKETS }),
      }),
      brokers: fc.array(arbitraryBroker, { maxLength: 2 }),
      predecessors: fc.array(arbitrarySegment, { maxLength: 2 }),
      successors: fc.array(arbitraryServedRange, { maxLength: 2 }),
      opened: fc.option(fc.record({ openedMs: timestamp }), { nil: {} }),
      ended: fc.option(fc.record({ endedMs: timestamp }), { nil: {} }),
    })
    .map(({ range, lines, entries, opened, ended, ...head }) => ({
      ...head,
      ...range,
      ...opened,
      ...ended,
      spilled,
      entries,
      lines: new Map(lines),
      tail: entries.reduce((offset, entry) => offset + entryCount(entry), spilled),
    })),
);

/** Each entry with what is in a page: one after the other, from an offset on. */
export const arbitraryPage: fc.Arbitrary<Page> = fc
  .nat({ max: 2 ** 40 })
  .chain((first) =>
    fc
      .record({ guard, highestTimestampMs: fc.integer({ min: -1, max: TIMESTAMP_MS_MAX }), entries: arbitraryEntriesFrom(first) })
      .map((page) => ({ ...page, first, next: page.entries.reduce((offset, entry) => offset + entryCount(entry), first) })),
  );

/** The item that has this head: as it is born, with all that writes change. */
export function headItem(head: Head): Item {
  const { topic, segment, lo, hi, floor, predecessors, brokers } = head;
  return {
    ...encodeNewHead({ topic, tenant: 'main', range: { segment, lo, hi, brokers }, floor, predecessors }),
    state: head.state,
    deleted: head.deleted,
    tail: head.tail,
    h: head.spilled,
    ht: head.spilledTimestampMs,
    g: head.guard,
    c: Object.fromEntries(head.entries.map((entry) => [entry.cid, entry.offset])),
    m: Object.fromEntries(head.entries.map((entry) => [entry.cid, encodeEntryBody(entry)])),
    p: Object.fromEntries([...head.lines].map(([producer, line]) => [producer, encodeLine(line)])),
    ev: head.evictions,
    messages: head.load.messages,
    bytes: head.load.bytes,
    commits: head.load.commits,
    hist: head.load.buckets,
    successors: encodeSuccessors(head.successors),
    ...(head.openedMs === undefined ? {} : { opened: head.openedMs }),
    ...(head.endedMs === undefined ? {} : { ended: head.endedMs }),
  };
}

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Move, moveOf, planMoves } from '../../../src/control/failover/plan-moves.ts';
import { type CommitId, segmentId, type TopicId } from '../../../src/model/ids.ts';
import { MOVED_AT_ONCE_MAX } from '../../../src/model/limits.ts';
import { formatCommitId } from '../../../src/protocol/commit-id.ts';
import { arbitraryHead } from '../../format/arbitrary-head.ts';

const move = fc.record({
  topic: fc.constantFrom('ta', 'tb', 'tc').map((topic) => topic as TopicId),
  segment: fc.integer({ min: 0, max: 10_000 }).map(segmentId),
  brokers: fc.constant([]),
  writtenMs: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 20 })),
  messages: fc.integer({ min: 0, max: 3 }),
});
const moves = fc.uniqueArray(move, { maxLength: 300, selector: ({ topic, segment }) => `${topic}/${segment}` });

test('every segment is in one batch, and a topic has no more batches than it needs', () => {
  fc.assert(
    fc.property(moves, (some) => {
      const batches = planMoves(some);
      expect(new Set(batches.flatMap((batch) => batch.moves))).toEqual(new Set(some));
      expect(batches.flatMap((batch) => batch.moves)).toHaveLength(some.length);
      for (const [topic, ofTopic] of Map.groupBy(some, (one) => one.topic)) {
        const own = batches.filter((batch) => batch.topic === topic);
        expect(own).toHaveLength(Math.ceil(ofTopic.length / MOVED_AT_ONCE_MAX));
        expect(own.every((batch) => batch.moves.every((one) => one.topic === topic))).toBe(true);
      }
    }),
  );
});

test('the newest written to comes first, of several the one with more messages; whatever order they were found in', () => {
  const isBefore = (a: Move, b: Move): boolean => a.writtenMs > b.writtenMs || (a.writtenMs === b.writtenMs && a.messages >= b.messages);
  fc.assert(
    fc.property(moves, (some) => {
      const batches = planMoves(some);
      const inOrder = (list: readonly Move[]): boolean => list.every((one, n) => n === 0 || isBefore(list[n - 1] as Move, one));
      expect(inOrder(batches.map((batch) => batch.moves[0] as Move))).toBe(true);
      for (const topic of ['ta', 'tb', 'tc']) {
        expect(inOrder(batches.filter((batch) => batch.topic === topic).flatMap((batch) => batch.moves))).toBe(true);
      }
      expect(planMoves(some.toReversed())).toEqual(batches);
    }),
  );
});

test('a head was written to when its newest entry was, or when what was newest has left it', () => {
  const cid = (ms: number): CommitId => formatCommitId(ms, 'instance', 1);
  fc.assert(
    fc.property(
      arbitraryHead,
      fc.array(fc.integer({ min: 1, max: 9_999 }), { maxLength: 5 }),
      fc.nat({ max: 9_999 }),
      (head, times, guardMs) => {
        const entry = { offset: 0, object: { minute: '', id: '' }, runs: [], highestTimestampMs: 0 };
        const entries = times.map((ms) => ({ ...entry, cid: cid(ms) }) as unknown as (typeof head.entries)[0]);
        const written = { ...head, entries, guard: guardMs === 0 ? ('' as const) : cid(guardMs), load: { ...head.load, messages: 7 } };
        const newest = Math.max(-1, ...times, guardMs === 0 ? -1 : guardMs);
        expect(moveOf(written)).toMatchObject({ segment: head.segment, brokers: head.brokers, writtenMs: newest, messages: 7 });
        expect(moveOf({ ...written, load: { ...head.load, messages: 0 } }).writtenMs).toBe(-1);
      },
    ),
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { itemBytes } from '../../src/adapters/memory/item-bytes.ts';
import { decodeHead, encodeNewHead } from '../../src/format/head-item.ts';
import type { BrokerId, CommitId, Minute, ObjectId, TopicId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';
import { HEAD_ENTRIES_SPILL, HEAD_LINES_MAX, LINE_BATCHES_MAX } from '../../src/model/limits.ts';
import { arbitraryHead, headItem } from './arbitrary-head.ts';
import { undetected } from './damage.ts';

test('a head comes back as it was', () => {
  fc.assert(
    fc.property(arbitraryHead, (head) => {
      expect(decodeHead(headItem(head))).toEqual(head);
    }),
  );
});

test('a head is born pending and empty, with all that a commit reads', () => {
  const range = { segment: segmentId(7), lo: 1, hi: 2 };
  const topic = 't123456789012345' as TopicId;
  const item = encodeNewHead({ topic, tenant: 'main', range, floor: '00000009' as Minute, predecessors: [segmentId(1)] });
  expect(decodeHead(item)).toMatchObject({ ...range, topic, state: 'pending', tail: 0, spilled: 0, guard: '', floor: '00000009' });
  expect(item).toMatchObject({ v: 1, tenant: 'main', c: {}, m: {}, p: {}, ev: 0, messages: 0, bytes: 0, commits: 0 });
});

test('a head with anything of another type, or left out, is corrupt', () => {
  fc.assert(
    fc.property(
      arbitraryHead.filter(
        (head) =>
          head.entries.length > 0 &&
          head.lines.size > 0 &&
          head.successors.length > 0 &&
          head.predecessors.length > 0 &&
          head.openedMs !== undefined &&
          head.endedMs !== undefined,
      ),
      (head) => {
        expect(
          undetected(headItem(head), decodeHead, { optional: ['deleted', 'brokers', 'opened', 'ended'], ignored: ['tenant'] }),
        ).toEqual([]);
      },
    ),
    { numRuns: 10 },
  );
});

test('a head that newer code wrote is corrupt, not guessed at', () => {
  const [head] = fc.sample(arbitraryHead, 1);
  if (head === undefined) throw new Error('no head');
  expect(() => decodeHead({ ...headItem(head), v: 2 })).toThrow(expect.objectContaining({ kind: 'corrupt' }));
});

const cid = (n: number): CommitId => `0mx23hdloeeu7ccgm${String(n).padStart(5, '0')}` as CommitId;

const fullHead = (entries: number, lines: number, maskBytes: number) => {
  const batches = (line: number) =>
    Array.from({ length: LINE_BATCHES_MAX }, (_, n) => ({ sequence: 1_000_000 + n, count: 100, cid: cid(line * 5 + n), delta: 1_000 }));
  return headItem({
    topic: 't123456789012345' as TopicId,
    segment: segmentId(1),
    lo: 0,
    hi: 65_535,
    state: 'open',
    deleted: false,
    tail: 1e12,
    spilled: 1e12 - 16_000,
    guard: cid(1),
    floor: '29932870' as Minute,
    spilledTimestampMs: 1_795_971_600_000,
    entries: Array.from({ length: entries }, (_, n) => ({
      cid: cid(n),
      offset: 1e12 - 16_000 + n * 1_000,
      object: { minute: '29932870' as Minute, id: 'o123456789012345' as ObjectId },
      runs: [{ start: 1_000_000, bytes: 1_000_000, count: 1_000 }],
      ...(maskBytes === 0 ? {} : { mask: new Uint8Array(maskBytes) }),
      highestTimestampMs: 1_795_971_600_000,
    })),
    lines: new Map(
      Array.from({ length: lines }, (_, n) => [`producer-${n}-of-an-instance`, { epoch: 1, next: 1_000_500, batches: batches(n) }]),
    ),
    evictions: 1_000,
    load: { messages: 1e12, bytes: 1e15, commits: 1e9, buckets: Array.from({ length: 16 }, () => 1e11) },
    brokers: ['broker-1' as BrokerId, 'broker-2' as BrokerId],
    predecessors: [segmentId(0)],
    successors: [],
  });
};

describe('size', () => {
  test('a head of plain commits stays under 4 KB until it is spilled', () => {
    expect(itemBytes(fullHead(HEAD_ENTRIES_SPILL, 0, 0))).toBeLessThan(4_096);
  });

  test('with all lines in use it stays under 5 KB', () => {
    expect(itemBytes(fullHead(HEAD_ENTRIES_SPILL, HEAD_LINES_MAX, 0))).toBeLessThan(5_120);
  });
});

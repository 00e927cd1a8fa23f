import { segmentKey } from '../../../src/format/item-key.ts';
import { encodeSegment } from '../../../src/format/segment-item.ts';
import { type SegmentId, segmentId } from '../../../src/model/ids.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';
import type { SegmentRange } from '../../../src/model/topic.ts';
import type { Item, Key } from '../../../src/ports/metadata-table.ts';
import { sealUpdate } from '../../../src/protocol/segment-life.ts';
import type { Scope } from '../engine/world.ts';
import { applied, committed, headItem, newHead, openHead, SEGMENT, TOPIC } from '../processes/broker.ts';
import { publisher } from '../processes/publisher.ts';
import { sealer } from '../processes/sealer.ts';
import { topicReader } from '../processes/topic-reader.ts';

type Faults = { readonly unanswered: number; readonly late: number };
type Kept = SegmentRange & { readonly predecessors: readonly SegmentId[]; readonly successors: readonly SegmentRange[] };

const QUARTER = PARTITIONS / 4;
const range = (number: number, from: number, to: number): SegmentRange => ({
  segment: segmentId(number),
  lo: from * QUARTER,
  hi: to * QUARTER - 1,
});

// S → A, R; R → B, D; A + B → C. Ids count up along the way.
const S = range(0, 0, 4);
const A = range(1, 0, 2);
const R = range(2, 2, 4);
const B = range(3, 2, 3);
const D = range(4, 3, 4);
const C = range(5, 0, 3);

const record = (segment: SegmentRange, predecessors: readonly SegmentId[]): readonly [Key, Item] => [
  segmentKey(TOPIC, segment.segment),
  encodeSegment({ ...segment, predecessors }),
];

/** A head with one message, sealed if it has successors. */
function kept({ segment, lo, hi, predecessors, successors }: Kept, messages: number): (readonly [Key, Item])[] {
  let head: Item = { ...newHead(segment, { lo, hi, predecessors }), state: 'open' };
  for (let n = 0; n < messages; n += 1) head = committed(head, `x${segment}${n}`, n + 1);
  if (successors.length > 0) head = applied(head, sealUpdate({ change: 'c', successors, deleted: false }, 0));
  return [record({ segment, lo, hi }, predecessors), headItem(head, segment)];
}

const objectsOf = (segments: readonly SegmentRange[]): NonNullable<Scope['objects']> =>
  Object.fromEntries(segments.flatMap(({ segment }) => [0, 1].map((n) => [`x${segment}${n}`, [{ message: `${segment}${n}`, count: 1 }]])));

/** Readers, from either end, of a topic that was split, split again, and merged across; messages still come to its ends. */
export function splitAndMerged(
  size: Faults & { readonly readers: number; readonly pages: number; readonly publishes: boolean; readonly empty: boolean },
): Scope {
  const between = size.empty ? 0 : 1;
  const segments: Kept[] = [
    { ...S, predecessors: [], successors: [A, R] },
    { ...A, predecessors: [S.segment], successors: [C] },
    { ...R, predecessors: [S.segment], successors: [B, D] },
    { ...B, predecessors: [R.segment], successors: [C] },
    { ...D, predecessors: [R.segment], successors: [] },
    { ...C, predecessors: [A.segment, B.segment], successors: [] },
  ];
  return {
    items: segments.flatMap((segment) => kept(segment, segment.segment === B.segment ? between : 1)),
    processes: [
      ...[0, 2]
        .slice(0, size.readers)
        .map((quarter) => topicReader({ name: `reader${quarter}`, pages: size.pages, from: 'earliest', turn: quarter * QUARTER })),
      ...(size.publishes
        ? [publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }], segment: C.segment })]
        : []),
    ],
    budgets: size,
    objects: { ...objectsOf(segments), oa: [{ message: 'a', count: 1 }] },
  };
}

/** A reader of a segment that is sealed under it, and goes on in two children; publishers write on, and move after the seal. */
export function readThroughSeal(size: Faults & { readonly pages: number }): Scope {
  const birth = openHead();
  const children = [range(1, 0, 2), range(2, 2, 4)];
  return {
    items: [
      headItem(birth),
      record(S, []),
      ...children.flatMap((child) => [
        record(child, [SEGMENT]),
        headItem(newHead(child.segment, { ...child, predecessors: [SEGMENT] }), child.segment),
      ]),
    ],
    processes: [
      topicReader({ name: 'reader', pages: size.pages, from: 'earliest', turn: 0 }),
      sealer('sealer', children),
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }], known: [birth] }),
      publisher({ name: 'B', instance: 'b', nowMs: 5, object: 'ob', members: [{ message: 'b' }], segment: segmentId(1) }),
    ],
    budgets: size,
    objects: { oa: [{ message: 'a', count: 1 }], ob: [{ message: 'b', count: 1 }] },
  };
}

/** A reader of two segments that are merged under it: what is written to the child comes after the ends of both. */
export function readThroughMerge(size: Faults & { readonly pages: number; readonly turn: number }): Scope {
  const parents = [range(0, 0, 2), range(1, 2, 4)].map((parent): Kept => ({ ...parent, predecessors: [], successors: [] }));
  const ids = parents.map(({ segment }) => segment);
  const child = range(2, 0, 4);
  const write = (name: string, segment: SegmentId): ReturnType<typeof publisher> =>
    publisher({ name: name.toUpperCase(), instance: name, nowMs: 5, object: `o${name}`, members: [{ message: name }], segment });
  return {
    items: [
      ...parents.flatMap((parent) => kept(parent, 1)),
      record(child, ids),
      headItem(newHead(child.segment, { predecessors: ids }), child.segment),
    ],
    processes: [
      topicReader({ name: 'reader', pages: size.pages, from: 'earliest', turn: size.turn * QUARTER }),
      sealer('sealer', [child], ids),
      write('a', segmentId(1)),
      write('b', child.segment),
    ],
    budgets: size,
    objects: { ...objectsOf(parents), oa: [{ message: 'a', count: 1 }], ob: [{ message: 'b', count: 1 }] },
  };
}

/** Readers, from either end, of two segments that were merged, and of the two into which that one was split. */
export function mergedAndSplit(size: Faults & { readonly pages: number }): Scope {
  const [lower, upper, child] = [range(0, 0, 2), range(1, 2, 4), range(2, 0, 4)];
  const successors = [range(3, 0, 1), range(4, 1, 4)];
  const segments: Kept[] = [
    { ...lower, predecessors: [], successors: [child] },
    { ...upper, predecessors: [], successors: [child] },
    { ...child, predecessors: [lower.segment, upper.segment], successors },
    ...successors.map((end): Kept => ({ ...end, predecessors: [child.segment], successors: [] })),
  ];
  return {
    items: segments.flatMap((segment) => kept(segment, 1)),
    processes: [0, 2].map((quarter) =>
      topicReader({ name: `reader${quarter}`, pages: size.pages, from: 'earliest', turn: quarter * QUARTER }),
    ),
    budgets: size,
    objects: objectsOf(segments),
  };
}

/** A reader from `latest` that begins after a message was acked: that one isn't new. */
export function latest(size: Faults & { readonly pages: number }): Scope {
  const birth = openHead();
  const child = { ...S, segment: segmentId(1) };
  return {
    items: [
      headItem(birth),
      record(S, []),
      record(child, [SEGMENT]),
      headItem(newHead(child.segment, { predecessors: [SEGMENT] }), child.segment),
    ],
    processes: [
      sealer('sealer', [child]),
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }], known: [birth] }),
      publisher({ name: 'B', instance: 'b', nowMs: 5, object: 'ob', members: [{ message: 'b' }], segment: child.segment }),
      topicReader(
        { name: 'reader', pages: size.pages, from: 'latest', turn: 0 },
        (stateOf) => stateOf('B').results?.[0]?.result === 'acked',
      ),
    ],
    budgets: size,
    objects: { oa: [{ message: 'a', count: 1 }], ob: [{ message: 'b', count: 1 }] },
    // Old when the reader began.
    old: ['b'],
  };
}

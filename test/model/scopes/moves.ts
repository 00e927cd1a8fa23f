import { segmentKey, topicKey } from '../../../src/format/item-key.ts';
import { encodeSegment } from '../../../src/format/segment-item.ts';
import { encodeTopic } from '../../../src/format/topic-item.ts';
import { type BrokerId, segmentId } from '../../../src/model/ids.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';
import type { SegmentRange } from '../../../src/model/topic.ts';
import type { Item, Key } from '../../../src/ports/metadata-table.ts';
import type { Process } from '../engine/process.ts';
import type { Scope } from '../engine/world.ts';
import { headItem, openHead, servedItem, TOPIC, topicItem } from '../processes/broker.ts';
import { assigner } from '../processes/assigner.ts';
import { carrier } from '../processes/leader.ts';
import { leaver, mover } from '../processes/mover.ts';
import { HIGH_KEY, LOW_KEY, placer } from '../processes/placer.ts';
import { topicReader } from '../processes/topic-reader.ts';
import { checkTopics } from './check-topics.ts';

// Fail-over and drain: all segments of a broker go to others, several with one write of the topic.

type Faults = { readonly unanswered: number; readonly late: number };

const HALF = PARTITIONS / 2;
const RANGES: readonly SegmentRange[] = [
  { segment: segmentId(0), lo: 0, hi: HALF - 1 },
  { segment: segmentId(1), lo: HALF, hi: PARTITIONS - 1 },
];
const [DEAD, SECOND, THIRD] = ['b1', 'b2', 'b3'] as [BrokerId, BrokerId, BrokerId];

const record = (range: SegmentRange): readonly [Key, Item] => [
  segmentKey(TOPIC, range.segment),
  encodeSegment({ ...range, predecessors: [] }),
];

/**
 * A broker's segments are moved by one leader or two at once, who choose different brokers, while publishers that know only
 * the old list write to them, and a reader follows. Any of them may be the last one that lives.
 */
export function moves(
  size: Faults & {
    readonly segments: number;
    readonly leaders: number;
    readonly carriers: number;
    readonly publishers: number;
    readonly pages: number;
    /** Each leader moves a segment of its own. */
    readonly apart?: boolean;
  },
): Scope {
  const ranges = size.segments === 1 ? [{ ...RANGES[0], lo: 0, hi: PARTITIONS - 1 } as SegmentRange] : RANGES;
  const heads = ranges.map(({ segment, lo, hi }) => openHead(segment, { lo, hi, brokers: [DEAD] }));
  const parents = ranges.map(({ segment }) => segment);
  const publishers = (
    [
      ['A', 'a', LOW_KEY],
      ['B', 'b', HIGH_KEY],
    ] as const
  ).slice(0, size.publishers);
  return {
    items: [
      [topicKey(TOPIC), encodeTopic(topicItem(ranges))],
      ...ranges.flatMap((range, index) => [record(range), headItem(heads[index] as Item, range.segment), servedItem(DEAD, range.segment)]),
    ],
    processes: [
      ...(['failover', 'drain'] as const).slice(0, size.leaders).map((kind, index) => {
        const own = size.apart === true ? parents.slice(index, index + 1) : parents;
        return mover(`leader${index + 1}`, { segments: own, from: DEAD, to: index === 0 ? [SECOND] : [THIRD], kind });
      }),
      ...Array.from({ length: size.carriers }, (_, index) => carrier(`carrier${index + 1}`)),
      ...publishers.map(([name, message, key]): Process => {
        const mustStore = size.unanswered === 0;
        return placer({ name, instance: message, nowMs: 5, messages: [{ message, key }], ranges, known: heads, mustStore });
      }),
      ...(size.pages > 0 ? [topicReader({ name: 'reader', pages: size.pages, from: 'earliest', turn: 0 })] : []),
    ],
    budgets: size,
    check: checkTopics,
  };
}

/** Leaders that see other brokers each are asked at once who serves a segment, while it is moved away. */
export function assignments(size: Faults & { readonly assigners: number; readonly leaders: number; readonly publishers: number }): Scope {
  const range: SegmentRange = { segment: segmentId(0), lo: 0, hi: PARTITIONS - 1 };
  const head = openHead(range.segment);
  const seen = [
    [DEAD, SECOND],
    [SECOND, THIRD],
    [THIRD, DEAD],
  ];
  return {
    items: [[topicKey(TOPIC), encodeTopic(topicItem([range]))], record(range), headItem(head)],
    processes: [
      ...seen.slice(0, size.assigners).map((brokers, index) => assigner(`leader${index + 1}`, range.segment, brokers)),
      ...(size.leaders > 0 ? [mover('mover', { segments: [range.segment], from: DEAD, to: [THIRD], kind: 'failover' })] : []),
      ...(size.publishers > 0
        ? [placer({ name: 'A', instance: 'a', nowMs: 5, messages: [{ message: 'a', key: LOW_KEY }], ranges: [range], known: [head] })]
        : []),
    ],
    budgets: size,
    check: checkTopics,
  };
}

/** A broker is left while other leaders still give it segments: one that is moved to it, and one that nobody served before. */
export function leaving(size: Faults & { readonly leavers: number; readonly moves: boolean; readonly assigns: boolean }): Scope {
  const [moved, unserved] = RANGES as [SegmentRange, SegmentRange];
  const heads = [openHead(moved.segment, { ...moved, brokers: [DEAD] }), openHead(unserved.segment, unserved)];
  return {
    items: [
      [topicKey(TOPIC), encodeTopic(topicItem(RANGES))],
      ...RANGES.flatMap((range, index) => [record(range), headItem(heads[index] as Item, range.segment)]),
      servedItem(DEAD, moved.segment),
    ],
    processes: [
      ...(size.moves ? [mover('mover', { segments: [moved.segment], from: DEAD, to: [SECOND], kind: 'failover' })] : []),
      ...(size.assigns ? [assigner('assigner', unserved.segment, [SECOND])] : []),
      ...[THIRD, DEAD].slice(0, size.leavers).map((broker, index) => leaver(`leaver${index + 1}`, { from: SECOND, to: [broker] })),
    ],
    budgets: size,
    check: checkTopics,
  };
}

import { nameKey, topicKey } from '../../../src/format/item-key.ts';
import { encodeName } from '../../../src/format/name-item.ts';
import { encodeTopic } from '../../../src/format/topic-item.ts';
import { type BrokerId, segmentId } from '../../../src/model/ids.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';
import { type SegmentRange, TENANT_DEFAULT, type Topic } from '../../../src/model/topic.ts';
import type { Item, Key } from '../../../src/ports/metadata-table.ts';
import type { Scope } from '../engine/world.ts';
import { headItem, openHead, SEGMENT, topicItem, WHOLE } from '../processes/broker.ts';
import { carrier, creator, deleter, leader } from '../processes/leader.ts';
import { mover } from '../processes/mover.ts';
import { learner } from '../processes/learner.ts';
import { publisher } from '../processes/publisher.ts';
import { checkTopics } from './check-topics.ts';

type Faults = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

const HALF = PARTITIONS / 2;
const LEFT: SegmentRange = { segment: segmentId(0), lo: 0, hi: HALF - 1 };
const RIGHT: SegmentRange = { segment: segmentId(1), lo: HALF, hi: PARTITIONS - 1 };
const NAME = 'topic';

const topicEntry = (topic: Topic): readonly [Key, Item] => [topicKey(topic.id), encodeTopic(topic)];
const nameEntry = (topic: Topic): readonly [Key, Item] => [
  nameKey(TENANT_DEFAULT, NAME),
  encodeName({ tenant: TENANT_DEFAULT, name: NAME, topic: topic.id, nextSegment: topic.firstSegment, version: 1 }),
];

/** Two leaders change two segments side by side, into `children` each: two at once is what a paused leader amounts to. */
export function changes(size: Faults & { readonly children: number; readonly carriers: number; readonly publishers: number }): Scope {
  const heads = [LEFT, RIGHT].map((range) => openHead(range.segment, range));
  return {
    items: [topicEntry(topicItem([LEFT, RIGHT])), headItem(heads[0] as Item, LEFT.segment), headItem(heads[1] as Item, RIGHT.segment)],
    processes: [
      leader('leader1', [LEFT.segment], size.children),
      leader('leader2', [RIGHT.segment], size.children),
      ...Array.from({ length: size.carriers }, (_, index) => carrier(`carrier${index + 1}`)),
      ...['A'].slice(0, size.publishers).map((name) =>
        publisher({
          name,
          instance: 'a',
          nowMs: 5,
          object: 'oa',
          members: [{ message: 'a' }],
          segment: LEFT.segment,
          known: [heads[0] as Item],
        }),
      ),
    ],
    budgets: size,
    objects: { oa: [{ message: 'a', count: 1 }] },
    check: checkTopics,
  };
}

/**
 * A sender whose first message goes to a broker that has learnt of a child from the intent, and whose second one, after
 * the first was acked, to a broker that knows only the parents. One parent (a fail-over) or two (a merge).
 */
export function childOpens(size: Faults & { readonly parents: number; readonly carriers: number }): Scope {
  const ranges = size.parents === 1 ? [WHOLE] : [LEFT, RIGHT];
  const parents = ranges.map(({ segment }) => segment);
  const child = segmentId(ranges.length);
  // The parent that is sealed last holds the keys that must not be read after the child's.
  const last = ranges.at(-1) ?? WHOLE;
  return {
    items: [topicEntry(topicItem(ranges)), ...ranges.map((range) => headItem(openHead(range.segment, range), range.segment))],
    processes: [
      size.parents === 1
        ? mover('leader', { segments: parents, from: 'b1' as BrokerId, to: ['b2' as BrokerId], kind: 'failover' })
        : leader('leader', parents),
      ...Array.from({ length: size.carriers }, (_, index) => carrier(`carrier${index + 1}`)),
      learner({ name: 'sender', first: child, second: last.segment }),
    ],
    budgets: size,
    objects: { oa: [{ message: 'a', count: 1 }], ob: [{ message: 'b', count: 1 }] },
    orders: [['a', 'b']],
    check: checkTopics,
  };
}

/** A topic whose creation was left half done, carried on by some while others delete it and publish to it. */
export function deletion(size: Faults & { readonly carriers: number; readonly deleters: number }): Scope {
  const topic: Topic = { ...topicItem([]), nextSegment: 1, changes: [{ id: 'create', kind: 'create', parents: [], children: [WHOLE] }] };
  return {
    items: [topicEntry(topic), nameEntry(topic)],
    processes: [
      ...Array.from({ length: size.carriers }, (_, index) => carrier(`carrier${index + 1}`)),
      ...Array.from({ length: size.deleters }, (_, index) => deleter(`deleter${index + 1}`, NAME)),
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }], segment: SEGMENT, known: [openHead()] }),
    ],
    budgets: size,
    objects: { oa: [{ message: 'a', count: 1 }] },
    check: checkTopics,
  };
}

/** A name that several make a topic of, and somebody deletes. */
export function creation(size: Faults & { readonly creators: number; readonly deleters: number }): Scope {
  return {
    items: size.deleters > 0 ? [topicEntry(topicItem([WHOLE])), nameEntry(topicItem([WHOLE])), headItem(openHead())] : [],
    processes: [
      ...Array.from({ length: size.creators }, (_, index) => creator(`creator${index + 1}`, NAME)),
      ...Array.from({ length: size.deleters }, (_, index) => deleter(`deleter${index + 1}`, NAME)),
    ],
    budgets: size,
    check: checkTopics,
  };
}

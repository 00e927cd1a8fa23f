import { segmentId } from '../model/ids.ts';
import { PARTITIONS } from '../model/limits.ts';
import type { SegmentRange, Topic, TopologyChange } from '../model/topic.ts';

// What a change makes of the topic item. Pure: each step answers the item to write over the one that was read.

/** Equal ranges that tile all partitions; the first ones are wider by one where they don't divide evenly. */
export function equalRanges(count: number, firstSegment: number): SegmentRange[] {
  return Array.from({ length: count }, (_, index) => ({
    segment: segmentId(firstSegment + index),
    lo: Math.ceil((index * PARTITIONS) / count),
    hi: Math.ceil(((index + 1) * PARTITIONS) / count) - 1,
  }));
}

/** Whether a pending change keeps a new one from touching these segments. */
export function isBusy(topic: Topic, change: TopologyChange): boolean {
  const touched = new Set(change.parents);
  return topic.changes.some((pending) => pending.parents.some((segment) => touched.has(segment)) || pending.kind === 'create');
}

/** T1: raises the version, and takes the children's ids from the topic's counter. */
export function withIntent(topic: Topic, change: TopologyChange): Topic {
  const isNext = change.children.every((child, index) => child.segment === segmentId(topic.nextSegment + index));
  if (!isNext) throw new Error(`the children of change ${change.id} do not have the next ids`);
  return {
    ...topic,
    version: topic.version + 1,
    state: change.kind === 'delete' ? 'deleting' : topic.state,
    nextSegment: topic.nextSegment + change.children.length,
    changes: [...topic.changes, change],
  };
}

/** T2: the children in place of the parents, from the version read. Undefined: the change is published already. */
export function withPublished(topic: Topic, change: TopologyChange): Topic | undefined {
  if (!topic.changes.some((pending) => pending.id === change.id)) return undefined;
  const parents = new Set(change.parents);
  return {
    ...topic,
    version: topic.version + 1,
    state: change.kind === 'delete' ? 'deleted' : topic.state,
    open: [...topic.open.filter((range) => !parents.has(range.segment)), ...change.children].toSorted((a, b) => a.lo - b.lo),
    changes: topic.changes.filter((pending) => pending.id !== change.id),
  };
}

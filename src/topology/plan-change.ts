import { segmentId, type SegmentId } from '../model/ids.ts';
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

/** Whether a pending change keeps new ones from touching these segments. */
export function isBusy(topic: Topic, changes: readonly TopologyChange[]): boolean {
  const touched = new Set(changes.flatMap((change) => change.parents));
  return topic.changes.some((pending) => pending.parents.some((segment) => touched.has(segment)) || pending.kind === 'create');
}

/** Whether a pending change makes or seals any of these segments: it has to end before they are changed again. */
export function isTouched({ changes }: Topic, segments: readonly SegmentId[]): boolean {
  const touched = new Set(segments);
  return changes.some(
    ({ kind, parents, children }) =>
      kind === 'create' || parents.some((parent) => touched.has(parent)) || children.some((child) => touched.has(child.segment)),
  );
}

/** T1: raises the version, and takes the children's ids from the topic's counter. */
export function withIntents(topic: Topic, changes: readonly TopologyChange[]): Topic {
  const children = changes.flatMap((change) => change.children);
  const areNext = children.every((child, index) => child.segment === segmentId(topic.nextSegment + index));
  if (!areNext) throw new Error(`the children of change ${changes[0]?.id} do not have the next ids`);
  return {
    ...topic,
    version: topic.version + 1,
    state: isDeletion(changes) ? 'deleting' : topic.state,
    nextSegment: topic.nextSegment + children.length,
    changes: [...topic.changes, ...changes],
  };
}

/** T2: the children in place of the parents, from the version read. Undefined: all of it is published already. */
export function withPublished(topic: Topic, changes: readonly TopologyChange[]): Topic | undefined {
  const ids = new Set(changes.map((change) => change.id));
  const pending = topic.changes.filter((change) => ids.has(change.id));
  if (pending.length === 0) return undefined;
  const parents = new Set(pending.flatMap((change) => change.parents));
  const children = pending.flatMap((change) => change.children).map(({ segment, lo, hi }) => ({ segment, lo, hi }));
  return {
    ...topic,
    version: topic.version + 1,
    state: isDeletion(pending) ? 'deleted' : topic.state,
    open: [...topic.open.filter((range) => !parents.has(range.segment)), ...children].toSorted((a, b) => a.lo - b.lo),
    changes: topic.changes.filter((change) => !ids.has(change.id)),
  };
}

const isDeletion = (changes: readonly TopologyChange[]): boolean => changes.some((change) => change.kind === 'delete');

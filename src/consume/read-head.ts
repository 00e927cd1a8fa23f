import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import { type SegmentId, segmentNumber } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Heads } from '../state/heads.ts';

type HeadDeps = { readonly heads: Heads };

/** A strong read. Errors `topic-replaced`, `segment-not-found`, `topic-not-found` (the topic was deleted). */
export async function freshHead(deps: HeadDeps, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<Head> {
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a topic that had this name before`);
  }
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  return ofLiving(head);
}

/** The head that shows this offset: one seen lately, if the offset lies below its tail, since what it says of it is for ever. */
export async function headAt(
  deps: HeadDeps,
  topic: Topic,
  at: { readonly segment: SegmentId; readonly offset: number },
  signal: AbortSignal,
): Promise<Head> {
  const known = deps.heads.known(topic.id, at.segment);
  return known !== undefined && at.offset < known.tail ? ofLiving(known) : freshHead(deps, topic, at.segment, signal);
}

/** Error `topic-not-found` where the head says that its topic was deleted. */
export function ofLiving(head: Head): Head {
  if (head.deleted) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted');
  return head;
}

import type { AssignedRange, Assignment } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import type { Head } from '../../model/head.ts';
import { type BrokerId, segmentNumber, type SegmentId } from '../../model/ids.ts';
import { CHANGE_PARALLEL_MAX, MOVES_MAX } from '../../model/limits.ts';
import type { SegmentRange, Topic } from '../../model/topic.ts';
import type { Heads } from '../../state/heads.ts';
import { inParallel } from '../../state/in-parallel.ts';
import type { BrokerDirectory } from '../brokers/directory.ts';
import type { LeaderService } from '../control.ts';

export type AnswerDeps = {
  readonly heads: Heads;
  readonly directory: BrokerDirectory;
  readonly leader: LeaderService;
  readonly self: BrokerId | undefined;
};

/** Who serves the segment, as of `Control.assignment`. What is saved is answered without a leader. */
export async function answerAssignment(
  deps: AnswerDeps,
  asked: { readonly topic: Topic; readonly segment: SegmentId; readonly suspect?: BrokerId },
  signal: AbortSignal,
): Promise<Assignment> {
  const { topic, segment, suspect } = asked;
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a deleted topic of this name`);
  }
  let head = await readHead(deps, topic, segment, signal);
  if (suspect !== undefined && isWorthReporting(deps, head, suspect)) {
    const { dead } = await deps.leader.suspect({ topic: topic.id, segment }, suspect, signal);
    if (dead) head = await readHead(deps, topic, segment, signal);
  }
  let { brokers } = head;
  if (head.state !== 'sealed' && brokers.length === 0) {
    brokers = await deps.leader.assign(topic, segment, signal);
    // Nobody was chosen: it was sealed meanwhile.
    if (brokers.length === 0) head = await readHead(deps, topic, segment, signal);
  }
  if (head.state === 'sealed') return { segment, brokers: [], successors: await followSuccessors(deps, head, signal) };
  const addresses = await deps.directory.addresses(brokers, signal);
  const [gone] = brokers;
  // A leader that stood still may have given it to somebody who had left by then: without a broker, nobody would ever notice.
  if (addresses.length === 0 && gone !== undefined && suspect !== gone) {
    return answerAssignment(deps, { topic, segment, suspect: gone }, signal);
  }
  return { segment, brokers: addresses, successors: [] };
}

/** Whoever does not serve the segment keeps nobody from it; and this broker knows of itself that it lives. */
function isWorthReporting({ self }: AnswerDeps, head: Head, suspect: BrokerId): boolean {
  return head.state !== 'sealed' && suspect !== self && head.brokers.includes(suspect);
}

async function readHead(deps: AnswerDeps, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<Head> {
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  if (head.deleted) throw new KelpError('not-found', 'topic-not-found', `topic ${topic.name} was deleted`);
  return head;
}

/**
 * Who goes on with the range now: the successors, or theirs where they are sealed as well. One that nobody was chosen for yet
 * has no addresses: whoever needs them asks for it.
 */
async function followSuccessors(deps: AnswerDeps, head: Head, signal: AbortSignal): Promise<AssignedRange[]> {
  const open = new Map<SegmentId, SegmentRange>();
  let sealed = head.successors;
  for (let step = 1; sealed.length > 0; step += 1) {
    const followed = await inParallel(sealed, CHANGE_PARALLEL_MAX, async (range): Promise<readonly SegmentRange[]> => {
      const child = await deps.heads.read(head.topic, range.segment, signal);
      if (child?.state === 'sealed' && step < MOVES_MAX) return child.successors;
      open.set(range.segment, child === undefined || child.brokers.length === 0 ? range : { ...range, brokers: child.brokers });
      return [];
    });
    sealed = [...new Map(followed.flat().map((range) => [range.segment, range])).values()];
  }
  const ranges = [...open.values()].toSorted((a, b) => a.lo - b.lo);
  return addressRanges(deps, ranges, signal);
}

/** The same ranges with the addresses of their brokers, as far as these are registered. */
export function addressRanges(
  { directory }: Pick<AnswerDeps, 'directory'>,
  ranges: readonly SegmentRange[],
  signal: AbortSignal,
): Promise<AssignedRange[]> {
  return inParallel(ranges, CHANGE_PARALLEL_MAX, async ({ segment, lo, hi, brokers = [] }) => {
    return { segment, lo, hi, addresses: await directory.addresses(brokers, signal) };
  });
}

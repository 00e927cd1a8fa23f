import type { Head } from '../../model/head.ts';
import type { BrokerId, SegmentId, TopicId } from '../../model/ids.ts';
import { MOVED_AT_ONCE_MAX } from '../../model/limits.ts';
import { timeOfCommitMs } from '../../protocol/commit-id.ts';

/** An open segment that is to be given to other brokers. */
export type Move = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  /** Those that serve it now. */
  readonly brokers: readonly BrokerId[];
  /** When it was written to last, by the clock of whoever did; −1: never. */
  readonly writtenMs: number;
  readonly messages: number;
};

/** Segments of one topic that move together: two writes of the topic's item, however many they are. */
export type Batch = { readonly topic: TopicId; readonly moves: readonly Move[] };

export function moveOf({ topic, segment, brokers, entries, guard, load }: Head): Move {
  // What was written last may have left the head for a page; then it is in the guard.
  const newest = [...entries.map((entry) => entry.cid), guard].reduce((highest, cid) => (cid > highest ? cid : highest), '');
  const writtenMs = newest === '' || load.messages === 0 ? -1 : timeOfCommitMs(newest);
  return { topic, segment, brokers, writtenMs, messages: load.messages };
}

/**
 * Written-to segments first: somebody waits for these. A topic's batches are full but for its last one, so that its item is
 * written as seldom as can be, and they stand where their most urgent segment does.
 */
export function planMoves(moves: readonly Move[]): Batch[] {
  const byTopic = Map.groupBy(moves.toSorted(byUrgency), (move) => move.topic);
  const batches = [...byTopic].flatMap(([topic, ofTopic]) => inBatches(ofTopic).map((batch) => ({ topic, moves: batch })));
  return batches.toSorted((a, b) => byUrgency(a.moves[0] as Move, b.moves[0] as Move));
}

/** The newest first; of those, the one with more messages; then by name, so that the order is always the same. */
function byUrgency(a: Move, b: Move): number {
  const name = (move: Move): string => `${move.topic}/${move.segment}`;
  return b.writtenMs - a.writtenMs || b.messages - a.messages || (name(a) < name(b) ? -1 : Number(name(a) > name(b)));
}

function inBatches(moves: readonly Move[]): Move[][] {
  const count = Math.ceil(moves.length / MOVED_AT_ONCE_MAX);
  return Array.from({ length: count }, (_, n) => moves.slice(n * MOVED_AT_ONCE_MAX, (n + 1) * MOVED_AT_ONCE_MAX));
}

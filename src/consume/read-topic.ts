import { invalid, KelpError } from '../model/errors.ts';
import { READ_ATTEMPTS_MAX, TIMESTAMP_MS_MAX, WAIT_MS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Clock } from '../ports/clock.ts';
import { type CursorState, decodeCursor, encodeCursor } from './cursor.ts';
import { BEGINNING, type Position } from './lineage.ts';
import { openSegments, positionsAtTail, positionsAtTimestamp } from './open-segments.ts';
import type { BatchSpan, ReadBounds, TopicPage } from './page.ts';
import { stateAfter } from './page-progress.ts';
import { noteDamage, type ReadDeps } from './read-from.ts';
import { freshHead, ofLiving } from './read-head.ts';
import { openOf, readRound } from './read-round.ts';

export type TopicDeps<S extends BatchSpan> = ReadDeps<S> & { readonly clock: Clock; readonly authenticator: Authenticator };
export type TopicWanted = { readonly cursor: string } & ReadBounds;

const TIMESTAMP = /^timestamp:(0|[1-9][0-9]{0,14})$/;

/** One page of a topic: where the cursor stands, open what may be read by now, read a round; nothing: wait for any news. */
export async function readTopic<S extends BatchSpan>(
  deps: TopicDeps<S>,
  topic: Topic,
  wanted: TopicWanted,
  signal: AbortSignal,
): Promise<TopicPage<S>> {
  const endMs = deps.clock.monotonicMs() + Math.min(wanted.waitMs, WAIT_MS_MAX);
  const room = { messages: wanted.messagesMax, bytes: wanted.bytesMax, batches: wanted.batchesMax ?? Infinity };
  const bounds = { room, whole: wanted.wholeBatches === true };
  let state = await begin(deps, topic, wanted.cursor, signal);
  let probe = true;
  // Bounded: each turn finishes a segment, passes over messages, is one of few attempts, or waits.
  for (let attempt = 1; ;) {
    state = { ...state, positions: await openSegments(deps, topic, { positions: state.positions }, signal) };
    const round = await readRound(deps, topic, { ...bounds, state, probe }, signal);
    const isFurther = round.isFurther || finishedCount(round.state.positions) > finishedCount(state.positions);
    ({ state } = round);
    if (round.slices.length > 0) return pageOf(deps, topic, state, round.slices);
    if (round.trouble !== undefined) {
      if (attempt === READ_ATTEMPTS_MAX) throw noteDamage(deps, round.trouble.error);
      attempt += 1;
      deps.archived.forget({ topic: topic.id, segment: round.trouble.segment });
      await freshHead(deps, topic, round.trouble.segment, signal);
    } else if (!isFurther) {
      const leftMs = endMs - deps.clock.monotonicMs();
      if (leftMs <= 0 || !(await hasNews(deps, topic, { state, leftMs }, signal))) return pageOf(deps, topic, state, []);
      probe = false;
      continue;
    }
    probe = true;
  }
}

async function begin(deps: TopicDeps<BatchSpan>, topic: Topic, cursor: string, signal: AbortSignal): Promise<CursorState> {
  const turns = { readTurn: 0, probeTurn: 0 };
  if (cursor === 'earliest') return { ...turns, positions: BEGINNING };
  if (cursor === 'latest') return { ...turns, positions: await positionsAtTail(deps, topic, signal) };
  if (!cursor.startsWith('timestamp:')) return decodeCursor(topic, cursor, deps.authenticator);
  const timestampMs = Number(TIMESTAMP.exec(cursor)?.[1] ?? Number.NaN);
  if (!(timestampMs <= TIMESTAMP_MS_MAX)) throw invalid('invalid-cursor', 'cursor', 'timestamp: is followed by milliseconds since 1970');
  return { ...turns, positions: await positionsAtTimestamp(deps, topic, timestampMs, signal) };
}

const finishedCount = (positions: readonly Position[]): number => positions.filter((position) => position.finished).length;

async function hasNews(
  deps: TopicDeps<BatchSpan>,
  topic: Topic,
  { state, leftMs }: { readonly state: CursorState; readonly leftMs: number },
  signal: AbortSignal,
): Promise<boolean> {
  const waits = openOf(state.positions).map(({ segment, offset }) => ({
    topic: topic.id,
    segment,
    isNews: (head: { readonly tail: number; readonly state: string }): boolean => head.tail > offset || head.state === 'sealed',
  }));
  if (waits.length === 0) {
    throw new KelpError('unavailable', 'unavailable', 'the segments of the topic are being made', { retryAfterMs: 1_000 });
  }
  const head = await deps.tail.wait(waits, leftMs, signal);
  return head !== undefined && ofLiving(head) === head;
}

async function pageOf<S extends BatchSpan>(
  deps: TopicDeps<BatchSpan>,
  topic: Topic,
  state: CursorState,
  slices: readonly S[],
): Promise<TopicPage<S>> {
  return {
    slices,
    cursor: await encodeCursor(topic, state, deps.authenticator),
    cursorAt: (messages) => encodeCursor(topic, stateAfter(state, slices, messages), deps.authenticator),
  };
}

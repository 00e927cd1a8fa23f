import { KelpError } from '../../model/errors.ts';
import { type BrokerId, segmentId, type SegmentId, segmentNumber } from '../../model/ids.ts';
import { CHANGE_ATTEMPTS_MAX, CHANGE_PARALLEL_MAX } from '../../model/limits.ts';
import type { ScaleEvent } from '../../model/scale-event.ts';
import type { MergeReason, SplitReason } from '../../model/scaling.ts';
import { segmentSealed } from '../../model/segment-sealed.ts';
import type { SegmentRange, Topic, TopologyChange } from '../../model/topic.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { applyChanges, intend, readTopic } from '../../topology/apply-change.ts';
import { noteScaling } from '../../topology/scale-history.ts';
import { carryOn } from '../../topology/carry-on.ts';
import { newChangeId } from '../../topology/change-id.ts';
import { isTouched } from '../../topology/plan-change.ts';
import { choose, type MoveDeps } from '../failover/move-segments.ts';
import { flushServed } from '../failover/tell-brokers.ts';
import { checkChange, type Replaced, type Room, roomOf, type SegmentChange, segmentsOf } from './check-change.ts';

/**
 * `id`: of one that may be asked for again, to find what the first asking has done; absent: it is new. `reason`: the planner's;
 * absent: somebody asks by hand.
 */
export type AskedChange = SegmentChange & { readonly id?: string; readonly reason?: SplitReason | MergeReason };

/** What became of a change: the segments in place of its own, in order of partitions; or why it can't be made. */
export type Applied = {
  readonly change: AskedChange;
  readonly children: readonly SegmentRange[];
  readonly refused?: KelpError;
};

type Asked = { readonly id: string; readonly change: AskedChange };
type Changing = {
  readonly topic: Topic['id'];
  readonly asked: readonly Asked[];
  /** For the children of each change, by its id; until it is sure that they open. */
  readonly chosen: Map<string, readonly (readonly BrokerId[])[]>;
};
/** One attempt: what is to be written, and what has become of the others. */
type Plan = { readonly changes: readonly TopologyChange[]; readonly settled: ReadonlyMap<string, Applied> };

/**
 * Splits and merges segments of one topic, none of which is in two of the changes: parents are sealed, and their children open on
 * brokers of their own. Two writes of the topic's item, however many changes there are. One that can't be made keeps no other
 * one from being made; answers what became of each, in their order. Stopped in the middle, whoever comes carries it on; asked
 * for again under its id, a change is made once.
 *
 * `refused`: `segment-sealed` with the successors, `segment-not-found`, `topic-replaced`, `topic-not-found`; or as of checkChange.
 * Errors `not-found`/`topic-not-found`; `unavailable`/`no-brokers`: nothing was written.
 */
export async function changeSegments(
  deps: MoveDeps,
  topic: Pick<Topic, 'id'>,
  changes: readonly AskedChange[],
  signal: AbortSignal,
): Promise<readonly Applied[]> {
  const asked = changes.map((change) => ({ id: change.id ?? newChangeId(deps.random), change }));
  assertDisjoint(changes);
  const changing: Changing = { topic: topic.id, asked, chosen: new Map() };
  await flush(deps, changing, signal);
  try {
    const applied = await changeTopic(deps, changing, signal);
    await note(deps, topic, [...applied.values()], signal);
    return asked.map(({ id }) => applied.get(id) as Applied);
  } finally {
    // Chosen for changes that were not made.
    for (const brokers of changing.chosen.values()) deps.counts.add(brokers.flat(), -1);
  }
}

/** Two changes of one segment in one write would give its range away twice. */
function assertDisjoint(changes: readonly SegmentChange[]): void {
  const segments = changes.flatMap((change) => [...new Set(segmentsOf(change))]);
  if (new Set(segments).size !== segments.length) throw new Error('a segment is in two of the changes');
}

/** Of those that are open still. */
async function flush(deps: MoveDeps, { topic, asked }: Changing, signal: AbortSignal): Promise<void> {
  const segments = [...new Set(asked.flatMap(({ change }) => segmentsOf(change)))];
  const heads = await inParallel(segments, CHANGE_PARALLEL_MAX, (segment) => deps.heads.read(topic, segment, signal));
  const open = heads.filter((head) => head?.state === 'open').flatMap((head) => head ?? []);
  await flushServed(deps, topic, open, signal);
}

async function changeTopic(deps: MoveDeps, changing: Changing, signal: AbortSignal): Promise<ReadonlyMap<string, Applied>> {
  const segments = changing.asked.flatMap(({ change }) => segmentsOf(change));
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const read = await readTopic(deps, changing.topic, signal);
    // Also an intent of this very change, whose answer was lost.
    const topic = isTouched(read, segments) ? await carryOn(deps, read.id, signal) : read;
    const { changes, settled } = await plan(deps, topic, changing, signal);
    if (changes.length === 0) return settled;
    // Of a term that is over, nothing new is begun.
    signal.throwIfAborted();
    const intended = await intend(deps, topic, changes, signal);
    if (intended !== undefined) return new Map([...settled, ...(await finish(deps, { changing, topic: intended, changes }, signal))]);
  }
  throw tooFast();
}

const tooFast = (): KelpError => new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });

/** What the topic allows of it now, each change with its children and their brokers; and what has become of the others. */
async function plan(deps: MoveDeps, topic: Topic, changing: Changing, signal: AbortSignal): Promise<Plan> {
  const changes: TopologyChange[] = [];
  const settled = new Map<string, Applied>();
  let room = roomOf(topic, deps.clock.nowMs());
  let next = topic.nextSegment;
  for (const asked of changing.asked) {
    const { id, change } = asked;
    const found = await find(deps, topic, { asked, room }, signal);
    if ('children' in found) {
      settled.set(id, found);
      if (found.refused === undefined) noteMade(deps, changing, asked);
      continue;
    }
    const brokers = await chooseFor(deps, topic, { changing, id, children: found.ranges.length }, signal);
    const children = found.ranges.map((range, n) => ({ ...range, segment: segmentId(next + n), brokers: brokers[n] ?? [] }));
    changes.push({ id, kind: change.kind, parents: found.parents, children });
    next += children.length;
    const more = children.length - found.parents.length;
    room = { more: room.more - more, fewer: room.fewer + more };
  }
  return { changes, settled };
}

/** What the change is to make of its segments; or what has become of it. */
async function find(
  deps: MoveDeps,
  topic: Topic,
  { asked, room }: { readonly asked: Asked; readonly room: Room },
  signal: AbortSignal,
): Promise<Replaced | Applied> {
  const { id, change } = asked;
  const segments = segmentsOf(change);
  const ranges = segments.flatMap((segment) => topic.open.find((range) => range.segment === segment) ?? []);
  try {
    const closed = segments.find((segment) => ranges.every((range) => range.segment !== segment));
    if (closed === undefined) return checkChange(change, ranges, room);
    const children = await successorsOf(deps, topic, { id, segment: closed }, signal);
    return { change, children };
  } catch (error) {
    if (!(error instanceof KelpError) || !REFUSALS.has(error.code)) throw error;
    return { change, children: [], refused: error };
  }
}

const REFUSALS = new Set([
  'invalid-at',
  'invalid-segments',
  'not-splittable',
  'not-neighbours',
  'not-mergeable',
  'segment-sealed',
  'segment-not-found',
  'topic-replaced',
  'topic-not-found',
]);

/** Of a segment that is not open: what this very change has put in its place. Any other reason is an error. */
async function successorsOf(
  deps: MoveDeps,
  topic: Topic,
  { id, segment }: { readonly id: string; readonly segment: SegmentId },
  signal: AbortSignal,
): Promise<readonly SegmentRange[]> {
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a deleted topic of this name`);
  }
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  if (head.deleted) throw new KelpError('not-found', 'topic-not-found', `topic ${topic.name} was deleted`);
  // It has opened since the topic was read.
  if (head.state !== 'sealed') throw tooFast();
  if (head.change !== id) throw segmentSealed(segment, head.successors);
  return head.successors;
}

/** Chosen once, however often the change is planned. */
async function chooseFor(
  deps: MoveDeps,
  topic: Topic,
  { changing, id, children }: { readonly changing: Changing; readonly id: string; readonly children: number },
  signal: AbortSignal,
): Promise<readonly (readonly BrokerId[])[]> {
  const known = changing.chosen.get(id);
  if (known !== undefined) return known;
  const chosen: (readonly BrokerId[])[] = [];
  // Before the next choice, so that whatever becomes of that one, this one is given back.
  changing.chosen.set(id, chosen);
  while (chosen.length < children) chosen.push(await choose(deps, topic, [], signal));
  return chosen;
}

type Intended = { readonly changing: Changing; readonly topic: Topic; readonly changes: readonly TopologyChange[] };

async function finish(deps: MoveDeps, { changing, topic, changes }: Intended, signal: AbortSignal): Promise<Map<string, Applied>> {
  const made = changing.asked.filter(({ id }) => changes.some((change) => change.id === id));
  // From here on somebody will do it, whatever becomes of this instance: so it counts.
  for (const asked of made) noteMade(deps, changing, asked);
  await applyChanges(deps, topic, changes, signal);
  deps.messenger.refresh(deps.living(), topic.name, signal);
  const children = new Map(changes.map((change) => [change.id, change.children]));
  return new Map(made.map(({ id, change }) => [id, { change, children: children.get(id) ?? [] }]));
}

/** Its children's brokers serve them, and its parents' do no more; once, and not for what was done when it was asked for again. */
function noteMade(deps: MoveDeps, { topic, chosen }: Changing, { id, change }: Asked): void {
  if (!chosen.delete(id)) return;
  deps.telemetry.count('kelp.segments.changed', 1, { kind: change.kind });
  for (const segment of segmentsOf(change)) deps.counts.add(deps.heads.known(topic, segment)?.brokers ?? [], -1);
}

/** For people; what was done by somebody who was stopped before this is noted by whoever asks again. */
async function note(deps: MoveDeps, topic: Pick<Topic, 'id'>, applied: readonly Applied[], signal: AbortSignal): Promise<void> {
  const atMs = deps.clock.nowMs();
  const lo = (segment: SegmentId): number => deps.heads.known(topic.id, segment)?.lo ?? 0;
  const events = applied.flatMap(({ change, children, refused }): ScaleEvent[] => {
    if (refused !== undefined) return [];
    const { reason } = change;
    const cause = reason === undefined ? { by: 'hand' as const } : { by: 'planner' as const, reason };
    const parents = segmentsOf(change).toSorted((a, b) => lo(a) - lo(b));
    const event = { ...cause, atMs, parents, children: children.map(({ segment }) => segment) };
    return [change.kind === 'split' ? { ...event, kind: 'split', at: change.at } : { ...event, kind: 'merge' }];
  });
  if (events.length > 0) await noteScaling(deps, topic, events, signal);
}

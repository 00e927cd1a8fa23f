import type { BrokerAddress } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import { type BrokerId, type SegmentId, segmentId } from '../../model/ids.ts';
import { CHANGE_ATTEMPTS_MAX } from '../../model/limits.ts';
import type { SegmentRange, Topic, TopologyChange } from '../../model/topic.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { applyChanges, intend, readTopic, type TopologyDeps } from '../../topology/apply-change.ts';
import { carryOn } from '../../topology/carry-on.ts';
import { newChangeId } from '../../topology/change-id.ts';
import { isTouched } from '../../topology/plan-change.ts';
import type { Assigner } from '../assignment/assign.ts';
import type { SegmentCounts } from '../assignment/segment-counts.ts';
import type { Batch } from './plan-moves.ts';
import { flushServed, type Messenger } from './tell-brokers.ts';

export type MoveDeps = TopologyDeps & {
  readonly telemetry: Telemetry;
  readonly assigner: Assigner;
  readonly counts: SegmentCounts;
  readonly messenger: Messenger;
  /** All brokers that are not known to be dead, those that drain included. */
  readonly living: () => readonly BrokerAddress[];
  /** Whoever must not be chosen; `doubtful`: also who does not answer at the moment. */
  readonly unfit: (options: { readonly doubtful: boolean }) => ReadonlySet<BrokerId>;
};

export type Moving = Batch & { readonly kind: 'failover' | 'drain'; /** The broker that is left. */ readonly from: BrokerId };

type Chosen = Map<SegmentId, readonly BrokerId[]>;

/**
 * Gives segments of one topic to other brokers: each is sealed, and a successor with the same range opens. Two writes of the
 * topic's item, however many they are. Whatever somebody else has done meanwhile is skipped; stopped in the middle, whoever
 * comes carries it on. Answers how many it moved. Error `unavailable`/`no-brokers`: nothing was written.
 */
export async function moveSegments(deps: MoveDeps, moving: Moving, signal: AbortSignal): Promise<number> {
  await flushServed(deps, moving.topic, moving.moves, signal);
  const chosen: Chosen = new Map();
  try {
    const moved = await changeTopic(deps, moving, chosen, signal);
    if (moved > 0) deps.telemetry.count('kelp.segments.moved', moved, { kind: moving.kind });
    return moved;
  } finally {
    // Chosen for segments that turned out to be gone.
    for (const brokers of chosen.values()) deps.counts.add(brokers, -1);
  }
}

async function changeTopic(deps: MoveDeps, moving: Moving, chosen: Chosen, signal: AbortSignal): Promise<number> {
  const tried = new Set<string>();
  const segments = moving.moves.map((move) => move.segment);
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const read = await readTopic(deps, moving.topic, signal);
    const found = read.changes.filter((pending) => tried.has(pending.id));
    // An intent whose answer was lost stands there.
    if (found.length > 0) return finish(deps, { moving, chosen, topic: read, changes: found }, signal);
    const topic = isTouched(read, segments) ? await carryOn(deps, read.id, signal) : read;
    const changes = await planChanges(deps, topic, { moving, chosen }, signal);
    if (changes.length === 0) return 0;
    for (const change of changes) tried.add(change.id);
    // Of a term that is over, nothing new is begun.
    signal.throwIfAborted();
    const intended = await intend(deps, topic, changes, signal);
    if (intended !== undefined) return finish(deps, { moving, chosen, topic: intended, changes }, signal);
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });
}

/** Of those that are open still: one change each, with a child of the same range on brokers of its own. */
async function planChanges(
  deps: MoveDeps,
  topic: Topic,
  { moving, chosen }: { readonly moving: Moving; readonly chosen: Chosen },
  signal: AbortSignal,
): Promise<TopologyChange[]> {
  const open = new Map(topic.open.map((range) => [range.segment, range]));
  const ranges = moving.moves.flatMap((move) => open.get(move.segment) ?? []);
  const changes: TopologyChange[] = [];
  for (const { segment, lo, hi } of ranges) {
    const brokers = chosen.get(segment) ?? (await choose(deps, topic, [moving.from], signal));
    chosen.set(segment, brokers);
    const child: SegmentRange = { segment: segmentId(topic.nextSegment + changes.length), lo, hi, brokers };
    changes.push({ id: newChangeId(deps.random), kind: moving.kind, parents: [segment], children: [child] });
  }
  return changes;
}

/** Those that surely live, for a child of a change; if there are none, those that may. `left`: none of these. */
export async function choose(deps: MoveDeps, topic: Topic, left: readonly BrokerId[], signal: AbortSignal): Promise<readonly BrokerId[]> {
  const without = (doubtful: boolean): ReadonlySet<BrokerId> => new Set([...deps.unfit({ doubtful }), ...left]);
  try {
    return await deps.assigner.choose(topic.settings.replicas, without(true), signal);
  } catch (error) {
    if (!(error instanceof KelpError) || error.code !== 'no-brokers') throw error;
    return deps.assigner.choose(topic.settings.replicas, without(false), signal);
  }
}

type Intended = {
  readonly moving: Moving;
  readonly chosen: Chosen;
  readonly topic: Topic;
  readonly changes: readonly TopologyChange[];
};

async function finish(deps: MoveDeps, { moving, chosen, topic, changes }: Intended, signal: AbortSignal): Promise<number> {
  const parents = new Set(changes.flatMap((change) => change.parents));
  // From here on somebody will do it, whatever becomes of this instance: so it counts.
  for (const parent of parents) chosen.delete(parent);
  for (const move of moving.moves) if (parents.has(move.segment)) deps.counts.add(move.brokers, -1);
  await applyChanges(deps, topic, changes, signal);
  deps.messenger.refresh(deps.living(), topic.name, signal);
  return changes.length;
}

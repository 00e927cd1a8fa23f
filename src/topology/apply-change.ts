import { decodeHead, encodeNewHead } from '../format/head-item.ts';
import { headKey, segmentKey, topicKey } from '../format/item-key.ts';
import { encodeSegment } from '../format/segment-item.ts';
import { decodeTopic, encodeTopic } from '../format/topic-item.ts';
import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { Minute, SegmentId } from '../model/ids.ts';
import { CHANGE_ATTEMPTS_MAX, CHANGE_PARALLEL_MAX } from '../model/limits.ts';
import type { SegmentRange, Topic, TopologyChange } from '../model/topic.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { openUpdate, sealUpdate } from '../protocol/segment-life.ts';
import { askAgain, askThroughThrottling, isTransient } from '../state/ask-again.ts';
import type { Heads } from '../state/heads.ts';
import { inParallel } from '../state/in-parallel.ts';
import { backoff } from '../state/retry.ts';
import { isBusy, withIntents, withPublished } from './plan-change.ts';
import { forgetServed, noteServed } from './served.ts';

export type TopologyDeps = { readonly table: MetadataTable; readonly heads: Heads; readonly clock: Clock; readonly random: Random };

/** Error `not-found`/`topic-not-found`. */
export async function readTopic(deps: TopologyDeps, id: Topic['id'], signal: AbortSignal): Promise<Topic> {
  const item = await deps.table.get(topicKey(id), signal);
  if (item === undefined) throw new KelpError('not-found', 'topic-not-found', 'the topic does not exist');
  return decodeTopic(item);
}

/**
 * Step 1, for several changes with one write. Answers the topic with the intents; undefined: it was changed since it was
 * read, or another change has to end first.
 */
export async function intend(
  deps: TopologyDeps,
  topic: Topic,
  changes: readonly TopologyChange[],
  signal: AbortSignal,
): Promise<Topic | undefined> {
  if (isBusy(topic, changes)) return undefined;
  return writeTopic(deps, topic, withIntents(topic, changes), signal);
}

/**
 * Steps 2 to 5: children, seal, open, publish. Always forward; each step may be asked again, by anybody, after a crash
 * between any two of them. Answers the topic as it was published.
 */
export async function applyChanges(
  deps: TopologyDeps,
  topic: Topic,
  changes: readonly TopologyChange[],
  signal: AbortSignal,
): Promise<Topic> {
  const sealed = await inParallel(changes, CHANGE_PARALLEL_MAX, (change) => replaceParents(deps, topic, change, signal));
  const published = await publishChanges(deps, topic, changes, signal);
  // Last, so that whoever looks for a broker's segments finds those in which somebody was stopped before the publication.
  await inParallel(sealed.flat(), CHANGE_PARALLEL_MAX, ({ segment, brokers }) =>
    forgetServed(deps, { topic: topic.id, segment }, brokers, signal),
  );
  return published;
}

/** Steps 2 to 4. Answers the parents, sealed. */
async function replaceParents(deps: TopologyDeps, topic: Topic, change: TopologyChange, signal: AbortSignal): Promise<Head[]> {
  const done = parentsSealedBy(deps, topic, change);
  if (done !== undefined) {
    await inParallel(change.children, CHANGE_PARALLEL_MAX, (child) => openChild(deps, topic, child, signal));
    return done;
  }
  await inParallel(change.children, CHANGE_PARALLEL_MAX, (child) => makeChild(deps, topic, { change, child, floor: '' }, signal));
  const sealed = await inParallel(change.parents, CHANGE_PARALLEL_MAX, (parent) => sealParent(deps, topic, { change, parent }, signal));
  // T3: no child opens before every parent is sealed.
  await inParallel(change.children, CHANGE_PARALLEL_MAX, (child) => openChild(deps, topic, child, signal));
  return sealed;
}

/**
 * The parents, where this instance has seen that this change has sealed all of them: its children were there before. Of the many
 * publishers that may wait for a child behind them, those that carry the change on write what is left of it.
 */
function parentsSealedBy({ heads }: TopologyDeps, { id }: Topic, change: TopologyChange): Head[] | undefined {
  const sealed = change.parents.flatMap((parent) => {
    const head = heads.known(id, parent);
    return head?.change === change.id ? [head] : [];
  });
  return sealed.length > 0 && sealed.length === change.parents.length ? sealed : undefined;
}

/**
 * Step 2: put if absent, pending. The segment's item comes first: whoever finds a head finds the lineage; and whoever looks
 * for the segments of a broker finds those that it is about to serve. `floor`: at least.
 */
export async function makeChild(
  deps: TopologyDeps,
  topic: Topic,
  { change, child, floor: least }: { readonly change: TopologyChange; readonly child: SegmentRange; readonly floor: Minute | '' },
  signal: AbortSignal,
): Promise<void> {
  const predecessors = change.parents;
  const record = encodeSegment({ ...child, predecessors });
  await askAgain(
    deps,
    () => deps.table.put(segmentKey(topic.id, child.segment), record, [{ op: 'missing', path: ['segment'] }], signal),
    signal,
  );
  await noteServed(deps, { topic: topic.id, segment: child.segment }, child.brokers ?? [], signal);
  const parents = await highestFloor(deps, topic, change.parents, signal);
  const floor = parents > least ? parents : least;
  const head = encodeNewHead({ topic: topic.id, tenant: topic.tenant, range: child, floor, predecessors });
  await askAgain(
    deps,
    () => deps.table.put(headKey(topic.id, child.segment), head, [{ op: 'missing', path: ['segment'] }], signal),
    signal,
  );
}

/** G2: read after the intent was written, so that no sweeper raises a parent's floor unseen. */
async function highestFloor(deps: TopologyDeps, topic: Topic, parents: readonly SegmentId[], signal: AbortSignal): Promise<Minute | ''> {
  const floors = await inParallel(parents, CHANGE_PARALLEL_MAX, async (parent) => {
    return (await deps.heads.read(topic.id, parent, signal))?.floor ?? '';
  });
  return floors.reduce((highest, floor) => (floor > highest ? floor : highest), '');
}

/**
 * Step 3. Refused: it is sealed already. That may be this change's own seal; of another one, this change can't go on, and was
 * never right.
 */
async function sealParent(
  deps: TopologyDeps,
  topic: Topic,
  { change, parent }: { readonly change: TopologyChange; readonly parent: SegmentId },
  signal: AbortSignal,
): Promise<Head> {
  const seal = sealUpdate({ change: change.id, successors: change.children, deleted: change.kind === 'delete' }, deps.clock.nowMs());
  const result = await askThroughThrottling(deps, () => deps.table.update(headKey(topic.id, parent), seal, signal), signal);
  const head = result.item === undefined ? undefined : decodeHead(result.item);
  if (head !== undefined) deps.heads.offer(head);
  if (head?.change !== change.id) throw new KelpError('conflict', 'conflict', `segment ${parent} was sealed by another change`);
  return head;
}

/** Step 4. Refused: it is open already, or it was, and is sealed by now. */
async function openChild(deps: TopologyDeps, topic: Topic, child: SegmentRange, signal: AbortSignal): Promise<void> {
  const key = headKey(topic.id, child.segment);
  const open = openUpdate(deps.clock.nowMs());
  const result = await askAgain(deps, () => deps.table.update(key, open, signal), signal);
  if (result.item !== undefined) deps.heads.offer(decodeHead(result.item));
}

/** Step 5, on the version read: a stale list would name a sealed parent for ever (T2). */
async function publishChanges(deps: TopologyDeps, topic: Topic, changes: readonly TopologyChange[], signal: AbortSignal): Promise<Topic> {
  let current = topic;
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const next = withPublished(current, changes);
    if (next === undefined) return current;
    const written = await writeTopic(deps, current, next, signal);
    if (written !== undefined) return written;
    current = await readTopic(deps, topic.id, signal);
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });
}

/**
 * T1: every write of a topic item demands the version read and raises it. Undefined: somebody else wrote. Not asked again
 * after a lost answer: the caller reads the topic and finds its write there, or not.
 */
export async function writeTopic(deps: TopologyDeps, from: Topic, to: Topic, signal: AbortSignal): Promise<Topic | undefined> {
  const condition = [{ op: '=' as const, path: ['version'], value: from.version }];
  try {
    const result = await deps.table.put(topicKey(from.id), encodeTopic(to), condition, signal);
    return result.applied ? to : undefined;
  } catch (error) {
    if (!isTransient(error) || signal.aborted) throw error;
    await backoff(deps, 1, signal);
    return undefined;
  }
}

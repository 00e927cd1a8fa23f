import { servedPartition } from '../../format/item-key.ts';
import { decodeServed, type ServedRecord } from '../../format/served-item.ts';
import { KelpError } from '../../model/errors.ts';
import type { Head } from '../../model/head.ts';
import type { BrokerId, TopicId } from '../../model/ids.ts';
import { MOVES_PLANNED_MAX, MOVES_READ_PARALLEL_MAX, SEGMENTS_LIST_PAGE } from '../../model/limits.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { queryPages } from '../../state/query-pages.ts';
import { readTopic, type TopologyDeps } from '../../topology/apply-change.ts';
import { carryOn } from '../../topology/carry-on.ts';
import { forgetServed } from '../../topology/served.ts';
import type { Assigner } from '../assignment/assign.ts';
import { type Move, moveOf } from './plan-moves.ts';

export type FindDeps = TopologyDeps & { readonly telemetry: Telemetry; readonly assigner: Assigner };

/** What a broker's list entry means, by the head. `unsettled`: nothing yet, and it may come to mean anything. */
type Meaning = 'serves' | 'unsettled' | 'left-over';

/**
 * The open segments that a broker serves, by its list and their heads. What means nothing any more is taken off the list;
 * changes that somebody was stopped in are carried on. An entry that can't be read stays, and is counted as a failure.
 */
export async function findMoves(deps: FindDeps, broker: BrokerId, signal: AbortSignal): Promise<Move[]> {
  const entries = await readServed(deps.table, broker, signal);
  const stopped = stoppedChanges(deps);
  const moves = await inParallel(entries, MOVES_READ_PARALLEL_MAX, (entry) =>
    orFailed(deps, entry, () => moveOfEntry(deps, { entry, broker, stopped }, signal), signal),
  );
  return moves.flatMap((move) => move ?? []);
}

async function readServed(table: MetadataTable, broker: BrokerId, signal: AbortSignal): Promise<ServedRecord[]> {
  const records: ServedRecord[] = [];
  for await (const items of queryPages(table, { pk: servedPartition(broker), limit: SEGMENTS_LIST_PAGE }, signal)) {
    records.push(...items.map(decodeServed));
    if (records.length >= MOVES_PLANNED_MAX) break;
  }
  return records;
}

type Entry = { readonly entry: ServedRecord; readonly broker: BrokerId; readonly stopped: StoppedChanges };

async function moveOfEntry(deps: FindDeps, at: Entry, signal: AbortSignal): Promise<Move | undefined> {
  const { entry, broker } = at;
  let head = await deps.heads.read(entry.topic, entry.segment, signal);
  if (head?.state !== 'open') {
    // Listed before it was there, or still although it is sealed: somebody was stopped in between.
    await at.stopped.carryOn(entry.topic, signal);
    head = await deps.heads.read(entry.topic, entry.segment, signal);
  }
  if (head?.state === 'open' && head.brokers.length === 0) head = await assigned(deps, entry, signal);
  const meaning = meaningOf(head, broker);
  if (meaning === 'serves') return moveOf(head as Head);
  if (meaning === 'left-over') await forgetServed(deps, entry, [broker], signal);
  return undefined;
}

function meaningOf(head: Head | undefined, broker: BrokerId): Meaning {
  if (head === undefined || head.state === 'sealed') return 'left-over';
  if (head.state === 'pending' || head.brokers.length === 0) return 'unsettled';
  return head.brokers.includes(broker) ? 'serves' : 'left-over';
}

/**
 * Somebody may be about to write this very broker into the head. Who serves it is decided now, for ever: then the entry means
 * something, or never will.
 */
async function assigned(deps: FindDeps, { topic, segment }: ServedRecord, signal: AbortSignal): Promise<Head | undefined> {
  const { name } = await readTopic(deps, topic, signal);
  await deps.assigner.assign({ id: topic, name }, segment, signal);
  return deps.heads.read(topic, segment, signal);
}

type StoppedChanges = { carryOn(topic: TopicId, signal: AbortSignal): Promise<void> };

/** Once for each topic, however many of its segments ask for it. */
function stoppedChanges(deps: TopologyDeps): StoppedChanges {
  const topics = new Map<TopicId, Promise<void>>();
  const carry = async (topic: TopicId, signal: AbortSignal): Promise<void> => {
    try {
      await carryOn(deps, topic, signal);
    } catch (error) {
      // A topic that was never seen by anybody leaves entries behind, and nothing to carry on.
      if (!(error instanceof KelpError) || error.code !== 'topic-not-found') throw error;
    }
  };
  return {
    carryOn(topic, signal) {
      const work = topics.get(topic) ?? carry(topic, signal);
      topics.set(topic, work);
      return work;
    },
  };
}

/** One segment that can't be read keeps no other one from being moved. */
async function orFailed<T>(deps: FindDeps, entry: ServedRecord, work: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    deps.telemetry.count('kelp.moves.failed', 1);
    deps.telemetry.log('warn', 'a segment of a broker that is left could not be looked at', { ...entry, error });
    return undefined;
  }
}

import { decodeBroker } from '../../format/broker-item.ts';
import { brokerKey, servedPartition } from '../../format/item-key.ts';
import type { BrokerRecord } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import type { BrokerId, TopicId } from '../../model/ids.ts';
import { MOVES_PARALLEL_MAX } from '../../model/limits.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { Condition, Key, Update } from '../../ports/metadata-table.ts';
import { askAgain } from '../../state/ask-again.ts';
import { findMoves } from './find-moves.ts';
import { type MoveDeps, moveSegments } from './move-segments.ts';
import { createPace, type Pace } from './pace.ts';
import { type Batch, planMoves } from './plan-moves.ts';

/** Why a broker's segments are moved away now. */
export type Reason = { readonly kind: 'failover' } | { readonly kind: 'drain'; readonly perSecond: number };

export type Leaving = {
  readonly broker: BrokerId;
  /** Asked before each batch: a broker that lives again keeps the rest, and one that dies while it drains needs no pace. */
  readonly reason: () => Reason | undefined;
};

/**
 * `empty`: it serves nothing any more. `more`: what it serves was moved, or has come meanwhile. `stuck`: not all of it could
 * be moved. `nobody`: no broker is there to take it.
 */
export type Left = 'empty' | 'more' | 'stuck' | 'nobody';

type Work = {
  readonly leaving: Leaving;
  readonly pace: Pace;
  readonly waiting: Batch[];
  readonly busy: Set<TopicId>;
  outcome: Exclude<Left, 'empty'>;
};

/** One pass over all that a broker serves, in order of urgency; topics side by side. */
export async function leaveBroker(deps: MoveDeps, leaving: Leaving, signal: AbortSignal): Promise<Left> {
  const moves = await findMoves(deps, leaving.broker, signal);
  const pace = createPace(deps.clock, () => perSecond(leaving.reason()));
  const work: Work = { leaving, pace, waiting: planMoves(moves), busy: new Set(), outcome: 'more' };
  await Promise.all(Array.from({ length: MOVES_PARALLEL_MAX }, () => moveBatches(deps, work, signal)));
  const { items } = await deps.table.query({ pk: servedPartition(leaving.broker), limit: 1 }, signal);
  return items.length === 0 ? 'empty' : work.outcome;
}

const perSecond = (reason: Reason | undefined): number | undefined => (reason?.kind === 'drain' ? reason.perSecond : undefined);

/** One of those that work side by side: two at one topic's item would only overtake each other. Where all that waits is of busy topics, whoever is busy with them goes on with it. */
async function moveBatches(deps: MoveDeps, work: Work, signal: AbortSignal): Promise<void> {
  for (;;) {
    const next = work.waiting.findIndex((batch) => !work.busy.has(batch.topic));
    const [batch] = next === -1 ? [] : work.waiting.splice(next, 1);
    if (batch === undefined) return;
    work.busy.add(batch.topic);
    try {
      await moveBatch(deps, work, batch, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      fail(deps, work, batch, error);
    } finally {
      work.busy.delete(batch.topic);
    }
  }
}

/** The others go on, unless they would fail for the same reason: what is left is found again. */
function fail(deps: MoveDeps, work: Work, { topic, moves }: Batch, error: unknown): void {
  if (error instanceof KelpError && error.code === 'no-brokers') {
    work.outcome = 'nobody';
    work.waiting.length = 0;
    return;
  }
  if (work.outcome === 'more') work.outcome = 'stuck';
  deps.telemetry.count('kelp.moves.failed', 1);
  deps.telemetry.log('warn', 'segments could not be moved', { topic, segments: moves.length, broker: work.leaving.broker, error });
}

/** In as many parts as the pace makes of it. */
async function moveBatch(deps: MoveDeps, { leaving, pace }: Work, { topic, moves }: Batch, signal: AbortSignal): Promise<void> {
  for (let from = 0; from < moves.length;) {
    const count = await pace.take(moves.length - from, signal);
    signal.throwIfAborted();
    const reason = leaving.reason();
    if (reason === undefined) return;
    const moving = { topic, moves: moves.slice(from, from + count), kind: reason.kind, from: leaving.broker };
    await moveSegments(deps, moving, signal);
    from += count;
  }
}

type Seen = Pick<BrokerRecord, 'id' | 'instance' | 'version'>;
type ItemDeps = Pick<MoveDeps, 'table' | 'clock' | 'random'>;

/**
 * Deletes the item of a broker that serves nothing any more: of a dead one if it has stood still since, of a drained one if
 * nobody wrote to it since it was seen. Answers whether it is gone.
 */
export async function deleteBroker(deps: ItemDeps, seen: Seen, signal: AbortSignal): Promise<boolean> {
  const result = await askAgain(deps, () => deps.table.delete(keyOf(seen), stillAs(seen), signal), signal);
  return result.applied || result.item === undefined;
}

/** The same of a fleet that drains: its item stays and says so, since its instances take an absence for a mistake. */
export async function markDrained(deps: ItemDeps, seen: Seen, signal: AbortSignal): Promise<boolean> {
  const update: Update = {
    condition: stillAs(seen),
    changes: [
      { op: 'set', path: ['drained'], value: true },
      { op: 'add', path: ['version'], value: 1 },
    ],
  };
  const result = await askAgain(deps, () => deps.table.update(keyOf(seen), update, signal), signal);
  return result.applied || result.item === undefined || decodeBroker(result.item).drained === true;
}

const keyOf = ({ id }: Seen): Key => brokerKey(TENANT_DEFAULT, id);

const stillAs = ({ instance, version }: Seen): Condition => [
  { op: '=', path: ['instance'], value: instance },
  { op: '=', path: ['version'], value: version },
];

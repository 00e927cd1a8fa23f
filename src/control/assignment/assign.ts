import { decodeHead } from '../../format/head-item.ts';
import { headKey } from '../../format/item-key.ts';
import { type BrokerRecord, isDraining } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import type { Head } from '../../model/head.ts';
import type { BrokerId, SegmentId, TopicId } from '../../model/ids.ts';
import { RETRY_AFTER_MS } from '../../model/limits.ts';
import { assignUpdate } from '../../protocol/segment-life.ts';
import { askAgain } from '../../state/ask-again.ts';
import { readTopic, type TopologyDeps } from '../../topology/apply-change.ts';
import { forgetServed, noteServed } from '../../topology/served.ts';
import type { BrokerDirectory } from '../brokers/directory.ts';
import { chooseBrokers } from './choose-brokers.ts';
import type { SegmentCounts } from './segment-counts.ts';

/** Who serves which segment, as the leader decides it. Two leaders at once decide the same: what is saved first. */
export type Assigner = {
  /**
   * The brokers that are saved in the segment's head, or else chosen and saved now; empty for a segment that was sealed
   * before anybody was chosen. Errors `segment-not-found`, `topic-not-found`; `unavailable`/`no-brokers`.
   */
  assign(topic: { readonly id: TopicId; readonly name: string }, segment: SegmentId, signal: AbortSignal): Promise<readonly BrokerId[]>;
  /**
   * For children of a change: chosen, counted, not saved. `without`: not to be chosen. None where no broker is registered at all,
   * so that anybody commits. Error `unavailable`/`no-brokers`: there are some, and none of them may be chosen.
   */
  choose(replicas: number, without: ReadonlySet<BrokerId>, signal: AbortSignal): Promise<readonly BrokerId[]>;
};

export type AssignerDeps = TopologyDeps & {
  readonly directory: BrokerDirectory;
  readonly counts: SegmentCounts;
  /**
   * Whether it may be given anything: the leader may take it for dead, or may not reach it, though it is registered. `again`:
   * it may be back by now, and there are too few others.
   */
  readonly isUsable?: (broker: BrokerRecord, options: { readonly again: boolean }, signal: AbortSignal) => Promise<boolean>;
};

export function createAssigner(deps: AssignerDeps): Assigner {
  return {
    async assign(topic, segment, signal) {
      const head = await deps.heads.read(topic.id, segment, signal);
      if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
      if (head.brokers.length > 0 || head.state === 'sealed') return head.brokers;
      const { settings } = await readTopic(deps, topic.id, signal);
      const brokers = await choose(deps, settings.replicas, new Set(), signal);
      if (brokers.length === 0) throw noBrokers();
      return save(deps, head, brokers, signal);
    },
    async choose(replicas, without, signal) {
      const brokers = await choose(deps, replicas, without, signal);
      if (brokers.length === 0 && (await deps.directory.list({ fresh: false }, signal)).length > 0) throw noBrokers();
      return brokers;
    },
  };
}

/** Counted at once: many choices may be under way. None: nobody may be chosen. */
async function choose(
  deps: AssignerDeps,
  replicas: number,
  without: ReadonlySet<BrokerId>,
  signal: AbortSignal,
): Promise<readonly BrokerId[]> {
  let may = await candidates(deps, { without, fresh: false }, signal);
  // What is chosen is chosen for ever, and somebody may have joined just now.
  if (may.length < replicas) may = await candidates(deps, { without, fresh: true }, signal);
  const ids = may.map((broker) => broker.id);
  await deps.counts.read(ids, signal);
  const weighed = may.map(({ id, zone, load }) => ({ id, zone, segments: deps.counts.of(id), busyPercent: load.busyPercent }));
  const chosen = chooseBrokers(weighed, { replicas, fraction: deps.random.fraction });
  deps.counts.add(chosen, 1);
  return chosen;
}

const noBrokers = (): KelpError =>
  new KelpError('unavailable', 'no-brokers', 'no broker is there to serve the segment', { retryAfterMs: RETRY_AFTER_MS });

async function candidates(
  deps: AssignerDeps,
  { without, fresh }: { readonly without: ReadonlySet<BrokerId>; readonly fresh: boolean },
  signal: AbortSignal,
): Promise<readonly BrokerRecord[]> {
  const all = await deps.directory.list({ fresh }, signal);
  const asked = all.filter((broker) => !isDraining(broker) && !without.has(broker.id));
  const usable = await Promise.all(asked.map(async (broker) => (await deps.isUsable?.(broker, { again: fresh }, signal)) ?? true));
  return asked.filter((_, index) => usable[index]);
}

/** Answers what the head says afterwards: these brokers, or those that somebody else saved first. */
async function save(deps: AssignerDeps, head: Head, brokers: readonly BrokerId[], signal: AbortSignal): Promise<readonly BrokerId[]> {
  const { topic, segment } = head;
  // Before the head says so: whoever looks for a broker's segments must find all of them.
  await noteServed(deps, { topic, segment }, brokers, signal);
  const result = await askAgain(deps, () => deps.table.update(headKey(topic, segment), assignUpdate(brokers), signal), signal);
  if (result.item === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  const now = decodeHead(result.item);
  deps.heads.offer(now);
  // What a head says is for ever, and so is a seal: these never serve it. Whoever sealed it may have cleared the lists before
  // this choice came into them.
  const unused = now.state === 'sealed' ? brokers : brokers.filter((broker) => !now.brokers.includes(broker));
  deps.counts.add(unused, -1);
  await forgetServed(deps, { topic, segment }, unused, signal);
  return now.brokers;
}

import type { AssignedRange } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import type { BrokerId } from '../model/ids.ts';
import { CHANGE_PARALLEL_MAX } from '../model/limits.ts';
import { LOADS_ASK_MS_MAX } from '../model/scaling-limits.ts';
import type { Topic } from '../model/topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { within } from '../state/within.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { newChangeId } from '../topology/change-id.ts';
import { addressRanges, answerAssignment } from './assignment/answer-assignment.ts';
import { countServed } from './assignment/segment-counts.ts';
import type { BrokerDirectory } from './brokers/directory.ts';
import type { Control, IdentifiedChange, LeaderService } from './control.ts';
import type { LeaderFinder } from './leader/find-leader.ts';

export type LeaderKnown = {
  /** Undefined: it is reached nowhere. */
  readonly self: BrokerId | undefined;
  readonly directory: BrokerDirectory;
  readonly finder: LeaderFinder;
  /** Whoever leads, this broker or another one. */
  readonly leader: LeaderService;
};

/** What clients ask of the control plane, by whoever leads and by what is in the table. */
export function controlByLeader(deps: TopologyDeps & LeaderKnown): Control {
  const { self, directory, finder, leader } = deps;
  const change = async (topic: Topic, asked: IdentifiedChange, signal: AbortSignal): Promise<readonly AssignedRange[]> =>
    addressRanges({ directory }, await leader.change(topic, asked, signal), signal);
  return {
    self,
    leader: (signal) => finder.find(signal),
    assignment: (topic, segment, options, signal) => answerAssignment(deps, { ...options, topic, segment }, signal),
    drain: (broker, options, signal) => leader.drain(broker, options, signal),
    split: (topic, segment, at, signal) => change(topic, { kind: 'split', id: newChangeId(deps.random), segment, at }, signal),
    merge: (topic, segments, signal) => change(topic, { kind: 'merge', id: newChangeId(deps.random), segments }, signal),
    rebalance: ({ topic, dryRun }, signal) => leader.rebalance({ dryRun, ...(topic === undefined ? {} : { topic: topic.id }) }, signal),
    async loads({ id }, signal) {
      const bound = { ms: LOADS_ASK_MS_MAX, reason: leaderSilent };
      try {
        return await within(deps.clock, bound, (ends) => leader.loads(id, ends), signal);
      } catch (error) {
        signal.throwIfAborted();
        // For people: what was asked for is whole without it, whatever keeps the leader from an answer. What is broken is to be seen.
        if (!(error instanceof KelpError) || error.kind === 'corrupt') throw error;
        return undefined;
      }
    },
    async brokers(signal) {
      const brokers = await directory.list({ fresh: true }, signal);
      return inParallel(brokers, CHANGE_PARALLEL_MAX, async (broker) => {
        return { ...broker, segments: await countServed(deps.table, broker.id, signal) };
      });
    },
  };
}

const leaderSilent = (): KelpError =>
  new KelpError('unavailable', 'leader-silent', `the leader did not answer within ${LOADS_ASK_MS_MAX} ms`);

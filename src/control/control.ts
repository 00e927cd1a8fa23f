import type { AssignedRange, Assignment, BrokerRecord, Leader } from '../model/broker.ts';
import type { BrokerId, SegmentId, TopicId } from '../model/ids.ts';
import type { TopicLoads, TopicPlan } from '../model/scaling.ts';
import type { SegmentPressure } from '../model/segment-pressure.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { AskedChange } from './scaling/change-segments.ts';

/** The control plane as this instance offers it to clients. What only the leader may decide is asked of the leader. */
export type Control = {
  /** This broker; undefined: it is not registered, and nobody forwards to it. */
  readonly self: BrokerId | undefined;
  /** All registered brokers, in order of their ids, with the number of segments that each one serves. */
  brokers(signal: AbortSignal): Promise<readonly BrokerStatus[]>;
  /** Who holds the lease; undefined: nobody. */
  leader(signal: AbortSignal): Promise<Leader | undefined>;
  /**
   * Who serves the segment. A saved assignment costs no leader. `suspect`: a broker that did not answer; the leader probes it,
   * and if it is dead the answer has the successors. Errors `segment-not-found`, `topic-replaced`; `unavailable` without a
   * leader, or without any broker to choose.
   */
  assignment(topic: Topic, segment: SegmentId, options: { readonly suspect?: BrokerId }, signal: AbortSignal): Promise<Assignment>;
  /**
   * Has its segments moved away, `perSecond` at most; then it leaves. Answers how many there are. Errors `broker-not-found`;
   * `conflict`/`last-broker`: nobody is left to take them.
   */
  drain(broker: BrokerId, options: { readonly perSecond: number }, signal: AbortSignal): Promise<{ readonly segments: number }>;
  /**
   * Cuts an open segment in two; `at`: first partition of the upper part. Answers the two once they are open, the lower one first.
   * Errors `conflict`: `segment-sealed` with the successors, `not-splittable` (one partition, or maxSegments); `invalid-at`;
   * `segment-not-found`, `topic-replaced`, `topic-not-found`; `unavailable` without a leader, or without any broker to choose.
   */
  split(topic: Topic, segment: SegmentId, at: number, signal: AbortSignal): Promise<readonly AssignedRange[]>;
  /** Makes one of two open neighbours, in either order. Errors as of `split`, and `invalid-segments`, `conflict`: `not-neighbours`, `not-mergeable` (minSegments, or an expected flood). */
  merge(topic: Topic, segments: readonly [SegmentId, SegmentId], signal: AbortSignal): Promise<readonly AssignedRange[]>;
  /**
   * Looks at one topic, or at all of them, and makes the changes that it plans, unless `dryRun`. Answers as of
   * LeaderService.rebalance. Errors `topic-not-found`, `topic-replaced`; `unavailable` without a leader.
   */
  rebalance(asked: { readonly topic?: Topic; readonly dryRun: boolean }, signal: AbortSignal): Promise<readonly TopicPlan[]>;
  /**
   * The loads of a topic's open segments, as the leader knows them. Undefined: it is not known, or did not answer within
   * LOADS_ASK_MS_MAX. Never waits for a leader to be found. Error `corrupt`.
   */
  loads(topic: Topic, signal: AbortSignal): Promise<TopicLoads | undefined>;
};

export type BrokerStatus = BrokerRecord & { readonly segments: number };

/**
 * What brokers ask of each other, never clients. Error `unavailable`/`not-leader` of what only the leader does, where this
 * one isn't.
 */
export type LeaderService = {
  assign(topic: { readonly id: TopicId; readonly name: string }, segment: SegmentId, signal: AbortSignal): Promise<readonly BrokerId[]>;
  /** Whether it is dead; then its segments have been moved, this one first. */
  suspect(
    segment: { readonly topic: TopicId; readonly segment: SegmentId },
    broker: BrokerId,
    signal: AbortSignal,
  ): Promise<{ readonly dead: boolean }>;
  drain(broker: BrokerId, options: { readonly perSecond: number }, signal: AbortSignal): Promise<{ readonly segments: number }>;
  /**
   * What stands in place of the segments once the change is made, with the brokers that serve it; asked twice, it is made once.
   * Errors as of Control.split and Control.merge.
   */
  change(topic: Pick<Topic, 'id'>, change: IdentifiedChange, signal: AbortSignal): Promise<readonly ServedRange[]>;
  /**
   * Looks at one topic, or at all of them, and makes the changes that it plans, unless `dryRun`. Answers what was planned, topic
   * by topic in order of names; without a topic only those with changes, hot keys or something held back.
   */
  rebalance(asked: { readonly topic?: TopicId; readonly dryRun: boolean }, signal: AbortSignal): Promise<readonly TopicPlan[]>;
  /**
   * Something is too much for these segments: the topic is looked at now, unless it was a moment ago. Resolves once that is
   * noted, not done.
   */
  nudge(topic: TopicId, pressures: readonly SegmentPressure[], signal: AbortSignal): Promise<void>;
  /** What is known of the loads of a topic's open segments. */
  loads(topic: TopicId, signal: AbortSignal): Promise<TopicLoads>;
};

export type ServedRange = Required<SegmentRange>;

/** `id`: by which it finds again what it has done. */
export type IdentifiedChange = AskedChange & { readonly id: string };

import type { SegmentId, TopicId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Part, PartOutcome } from './part.ts';
import type { PublishRequest, PublishResult } from './request.ts';

export type Publisher = {
  /**
   * Stores the content; within a segment all of it or nothing. Errors that concern single segments stand in the result;
   * thrown are those of the whole request: `unavailable` (queue full, stopping), `topic-not-found`, `key-reused`, and the
   * signal's reason if nothing was sent yet.
   */
  publish(topic: Topic, request: PublishRequest, signal: AbortSignal): Promise<PublishResult>;
  /**
   * Commits what another broker has handed on, and never hands it on again: an outcome for each part, in order. Errors as of
   * `publish`; then nothing was begun.
   */
  accept(topic: Topic, parts: readonly Part[], signal: AbortSignal): Promise<readonly PartOutcome[]>;
  /** Resolves once all that is held of these segments now is decided, after FLUSH_MS_MAX at the latest. */
  flush(topic: TopicId, segments: readonly SegmentId[], signal: AbortSignal): Promise<void>;
  /** The segments of the topic of this name have changed: what was handed on to a broker that served one that is sealed now is waited for no longer. */
  refreshed(topicName: string): void;
  /** Whether a publish would be refused now: worth knowing before a body is read. */
  isFull(): boolean;
  /** Refuses new publishes, and resolves when those in flight have ended or the signal aborts. */
  stop(signal: AbortSignal): Promise<void>;
};

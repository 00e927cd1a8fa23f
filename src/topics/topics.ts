import type { SegmentId } from '../model/ids.ts';
import type { SegmentState } from '../model/head.ts';
import type { ScaleEvent } from '../model/scale-event.ts';
import type { SegmentRange, SettingsChange, SettingsWish, Topic } from '../model/topic.ts';

export type SegmentDescription = SegmentRange & {
  readonly state: SegmentState;
  /** First offset that can still be read. */
  readonly start: number;
  readonly tail: number;
  readonly predecessors: readonly SegmentId[];
  readonly successors: readonly SegmentId[];
  /** Wall clocks of those who opened and sealed it, for people; absent before, and where an older broker did it. */
  readonly openedMs?: number;
  readonly endedMs?: number;
};

export type Topics = {
  /** `created` false: it was there, as it is wished for. Errors `conflict`/`exists-differently`, `invalid-settings`. */
  create(name: string, wish: SettingsWish, signal: AbortSignal): Promise<{ readonly topic: Topic; readonly created: boolean }>;
  /** The topic as it is then. Errors `not-found`/`topic-not-found`, `invalid-settings`, `invalid-schema`. */
  change(name: string, change: SettingsChange, signal: AbortSignal): Promise<Topic>;
  /**
   * The topic that has this name now. `fresh` reads the stores; otherwise an answer may be as old as TOPIC_KNOWN_MS_MAX,
   * which costs nothing but a redirect: commits and heads tell the truth. Error `not-found`/`topic-not-found`.
   */
  resolve(name: string, options: { readonly fresh: boolean }, signal: AbortSignal): Promise<Topic>;
  /** Somebody has changed it: the next one who needs it reads it anew. */
  forget(name: string): void;
  /** Topics in order of their names. `after`: a name, which need not exist any more. */
  list(page: { readonly limit: number; readonly after?: string }, signal: AbortSignal): Promise<TopicsPage>;
  /** Resolves once nothing can be published or read under this name; its objects go in the background. */
  delete(name: string, signal: AbortSignal): Promise<void>;
  segments(topic: Topic, signal: AbortSignal): Promise<readonly SegmentDescription[]>;
  /** Those of them that were open at that time, as they are now. By the clocks of brokers, which differ. */
  segmentsAt(topic: Topic, atMs: number, signal: AbortSignal): Promise<readonly SegmentDescription[]>;
  /** Errors `segment-not-found`, `topic-replaced` (410: a segment of a former life of the name). */
  segment(topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<SegmentDescription>;
  /** The latest splits and merges, newest first. */
  scaling(topic: Topic, signal: AbortSignal): Promise<readonly ScaleEvent[]>;
};

export type TopicsPage = { readonly topics: readonly Topic[]; /** `after` of the next page; absent at the end. */ readonly next?: string };

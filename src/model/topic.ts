import type { TypedColumn } from './archive.ts';
import { type BrokerId, type SegmentId, type TopicId, segmentId } from './ids.ts';
import { SCALING_DEFAULT, type ScalingSettings } from './scaling.ts';

/** Where in a message its partition key is found: its `key`, a header, or a JSON Pointer into the value. */
export type PartitionKey = 'key' | { readonly header: string } | { readonly pointer: string };

/** Partitions `lo` to `hi`, both included. */
export type Range = { readonly lo: number; readonly hi: number };
/** `brokers`: who serves it, where that was decided together with the range; absent: not here. */
export type SegmentRange = Range & { readonly segment: SegmentId; readonly brokers?: readonly BrokerId[] };

/** How long messages are kept; beyond either bound the oldest go. A bound that is absent is none. */
export type Retention = {
  /** Since the commit, by its broker's clock, whatever a message's own timestamp says. */
  readonly maxAgeSeconds?: number;
  /** Of the topic's batches as they were committed. */
  readonly maxBytes?: number;
};

/** What is named changes; null takes a bound away. */
export type RetentionChange = { readonly [Bound in keyof Retention]?: number | null };

/** A JSON Schema of the values. `json`: its text, as it was given; `columns`: what files have of it beside the columns of all. */
export type TopicSchema = { readonly json: string; readonly columns: readonly TypedColumn[] };

/** What a user chose for a topic. */
export type TopicSettings = {
  readonly partitionKey: PartitionKey;
  /** At creation. */
  readonly segments: number;
  /** Brokers that are to serve each segment. */
  readonly replicas: number;
  /** Absent: nobody said anything, so that SCALING_DEFAULT holds, as it is at the time. */
  readonly scaling?: ScalingSettings;
  /** Absent: messages are kept for ever. */
  readonly retention?: Retention;
  readonly schema?: TopicSchema;
};

/** What may be changed of a topic's settings. What isn't named stays; a schedule and a schema are replaced as a whole. */
export type SettingsChange = {
  readonly replicas?: number;
  readonly scaling?: Partial<ScalingSettings>;
  readonly retention?: RetentionChange;
  readonly schema?: TopicSchema;
};

/** What a topic is to be made with: defaults hold for what may be changed and isn't named. */
export type SettingsWish = Pick<TopicSettings, 'partitionKey' | 'segments'> & SettingsChange;

export const scalingOf = ({ scaling }: TopicSettings): ScalingSettings => scaling ?? SCALING_DEFAULT;

/** What a change is for; its steps are the same. */
export const CHANGE_KINDS = ['create', 'delete', 'failover', 'drain', 'split', 'merge'] as const;

/**
 * A pending change of a topic's segments: parents are sealed, then the children open, then the topic's list is replaced.
 * Creation has no parents, deletion no children. Fail-over and drain give one segment's range to other brokers.
 */
export type TopologyChange = {
  readonly id: string;
  readonly kind: (typeof CHANGE_KINDS)[number];
  readonly parents: readonly SegmentId[];
  readonly children: readonly SegmentRange[];
};

export type Topic = {
  readonly id: TopicId;
  readonly name: string;
  readonly tenant: string;
  readonly settings: TopicSettings;
  readonly state: 'active' | 'deleting' | 'deleted';
  /** Raised by every write of the item; each write demands the one that it read. */
  readonly version: number;
  /** Number of the first segment of this life of the name; older ids belong to a deleted topic. */
  readonly firstSegment: number;
  /** Number of the next segment. */
  readonly nextSegment: number;
  /** Open segments in order of partitions; they tile 0 … 65535 once the topic is created. */
  readonly open: readonly SegmentRange[];
  readonly changes: readonly TopologyChange[];
  readonly createdMs: number;
};

/** All segments that this life of the topic's name ever had. */
export const segmentsOf = ({ firstSegment, nextSegment }: Topic): SegmentId[] =>
  Array.from({ length: nextSegment - firstSegment }, (_, index) => segmentId(firstSegment + index));

/** The tenant of everything until tenants come. */
export const TENANT_DEFAULT = 'main';

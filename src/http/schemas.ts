import { z } from 'zod';
import {
  DRAIN_PER_SECOND_DEFAULT,
  DRAIN_PER_SECOND_MAX,
  PARTITIONS,
  REPLICAS_MAX,
  SEGMENTS_AT_CREATION_MAX,
  SEGMENTS_OPEN_MAX,
} from '../model/limits.ts';
import { RETENTION_SECONDS_MAX } from '../model/archive-limits.ts';
import { CRON_BYTES_MAX, FLOOD_SECONDS_MAX, FLOODS_MAX } from '../model/scaling-limits.ts';

// What PROTOCOL.md says about JSON, for machines: openapi.json is made of it, and every answer of the HTTP tests is held
// against it. The product itself doesn't import it: requests are parsed by hand, byte-exact and fast.

export const Integer = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
export const Base64 = z.base64();

export const TopicName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,127}$/);
export const SegmentId = z.string().regex(/^s[0-9a-z]{7}$/);
export const Partition = z
  .int()
  .min(0)
  .max(PARTITIONS - 1);
const Offset = Integer;

export const Problem = z
  .looseObject({
    type: z.string().regex(/^urn:kelp:problem:[a-z0-9-]+$/),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: z.string().regex(/^[a-z0-9-]+$/),
    retryable: z.boolean(),
    indefinite: z.boolean(),
    detail: z.string(),
    field: z.string().optional(),
    line: z.int().min(1).optional(),
    retryAfterMs: z.number().min(0).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457. `code` is what to branch on; the table of codes is in PROTOCOL.md.' });

export const PartitionKey = z
  .union([z.literal('key'), z.strictObject({ header: z.string() }), z.strictObject({ pointer: z.string() })])
  .meta({ id: 'PartitionKey', description: "Where a message's key is: in `key`, in a header, or at a JSON Pointer in its value." });

const Replicas = z.int().min(1).max(REPLICAS_MAX);

const OpenSegments = z.int().min(1).max(SEGMENTS_OPEN_MAX);
const Target = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const ExpectedFlood = z
  .strictObject({
    cron: z.string().max(CRON_BYTES_MAX),
    durationSeconds: z.int().min(1).max(FLOOD_SECONDS_MAX),
    minSegments: OpenSegments,
    timeZone: z.string().max(CRON_BYTES_MAX).optional(),
  })
  .meta({ id: 'ExpectedFlood', description: 'Begins whenever `cron` (five fields) says so by the clocks of `timeZone`, UTC without one.' });

export const Scaling = z
  .strictObject({
    minSegments: OpenSegments,
    maxSegments: OpenSegments,
    targetBytesPerSecond: Target,
    targetMessagesPerSecond: Target,
    targetCommitsPerSecond: Target,
    schedule: z.array(ExpectedFlood).max(FLOODS_MAX),
  })
  .meta({ id: 'Scaling', description: 'How many segments are to be open, and what one of them is to carry a second.' });

export const ScalingChange = Scaling.partial().meta({ id: 'ScalingChange', description: 'Any members of Scaling.' });

const MaxAgeSeconds = z.int().min(1).max(RETENTION_SECONDS_MAX);
const MaxBytes = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const Retention = z
  .strictObject({ maxAgeSeconds: MaxAgeSeconds.optional(), maxBytes: MaxBytes.optional() })
  .meta({ id: 'Retention', description: 'Beyond either bound the oldest messages go. A bound that is absent is none.' });

export const RetentionChange = z
  .strictObject({ maxAgeSeconds: MaxAgeSeconds.nullable().optional(), maxBytes: MaxBytes.nullable().optional() })
  .nullable()
  .meta({ id: 'RetentionChange', description: 'Any members of Retention; null is no bound.' });

export const ValueSchema = z
  .looseObject({})
  .meta({ id: 'ValueSchema', description: 'A JSON Schema of the values; files have columns by its `properties`.' });

const CHANGEABLE = {
  replicas: Replicas.optional(),
  scaling: ScalingChange.optional(),
  retention: RetentionChange.optional(),
  schema: ValueSchema.optional(),
};

export const SettingsChange = z.strictObject(CHANGEABLE).meta({ id: 'SettingsChange' });

export const TopicSettings = z
  .strictObject({
    partitionKey: PartitionKey,
    segments: z.int().min(1).max(SEGMENTS_AT_CREATION_MAX).optional(),
    ...CHANGEABLE,
  })
  .meta({ id: 'TopicSettings' });

export const Topic = z
  .strictObject({
    topic: TopicName,
    id: z.string().regex(/^[a-z][0-9a-z]{15}$/),
    partitionKey: PartitionKey,
    segments: z.int().min(1).max(SEGMENTS_AT_CREATION_MAX),
    replicas: Replicas,
    scaling: Scaling,
    retention: Retention,
    createdMs: Integer,
    schema: ValueSchema.optional(),
  })
  .meta({ id: 'Topic' });

export const TopicsPage = z.strictObject({ topics: z.array(Topic), next: TopicName.optional() }).meta({ id: 'TopicsPage' });

export const SegmentRange = z.strictObject({ segment: SegmentId, lo: Partition, hi: Partition }).meta({ id: 'SegmentRange' });

export const Load = z.number().min(0);
export const Share = z.number().min(0).max(1);

export const SegmentLoad = z
  .strictObject({ messagesPerSecond: Load, bytesPerSecond: Integer, commitsPerSecond: Load, ofTarget: Load })
  .meta({ id: 'SegmentLoad', description: '`ofTarget`: in times what a segment is to carry, by the measure that is highest.' });

export const HotKey = z
  .strictObject({ lo: Partition, hi: Partition, share: Share })
  .meta({ id: 'HotKey', description: 'One partition, of these, has more than half of the messages of a segment that carries too much.' });

export const Segment = z
  .strictObject({
    segment: SegmentId,
    state: z.enum(['pending', 'open', 'sealed']),
    lo: Partition,
    hi: Partition,
    start: Offset,
    tail: Offset,
    predecessors: z.array(SegmentId),
    successors: z.array(SegmentId),
    openedMs: Integer.optional(),
    endedMs: Integer.optional(),
    load: SegmentLoad.optional(),
    hotKey: HotKey.optional(),
  })
  .meta({ id: 'Segment' });

export const BrokerId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/);

export const BrokerAddress = z
  .strictObject({ id: BrokerId, url: z.string() })
  .meta({ id: 'BrokerAddress', description: 'A broker, and the origin where it is reached.' });

export const Successor = z
  .strictObject({ segment: SegmentId, lo: Partition, hi: Partition, brokers: z.array(BrokerAddress) })
  .meta({ id: 'Successor', description: 'A segment that continues a sealed one, and who serves it as far as that is known.' });

export const SegmentBrokers = z
  .strictObject({ segment: SegmentId, brokers: z.array(BrokerAddress), successors: z.array(Successor).min(1).optional() })
  .meta({ id: 'SegmentBrokers', description: 'A sealed segment has no brokers, but successors.' });

export const SplitSegment = z
  .strictObject({
    at: z
      .int()
      .min(1)
      .max(PARTITIONS - 1),
  })
  .meta({ id: 'SplitSegment', description: '`at`: the first partition of the upper part.' });

export const SegmentSplit = z.strictObject({ segment: SegmentId, successors: z.array(Successor).length(2) }).meta({ id: 'SegmentSplit' });

const Two = z.array(SegmentId).length(2);

export const MergeSegments = z.strictObject({ segments: Two }).meta({ id: 'MergeSegments', description: 'Two neighbours.' });

export const SegmentsMerged = z.strictObject({ segments: Two, successors: z.array(Successor).length(1) }).meta({ id: 'SegmentsMerged' });

export const Suspicion = z.strictObject({ suspect: BrokerId.optional() }).meta({ id: 'Suspicion' });

export const Broker = z
  .strictObject({
    id: BrokerId,
    url: z.string(),
    kind: z.enum(['process', 'fleet']),
    zone: z.string(),
    draining: z.boolean(),
    segments: Integer,
    load: z.strictObject({
      requests: Integer,
      bytesPerSecond: Integer,
      messagesPerSecond: Integer,
      commitMs: Integer,
      eventLoopDelayMs: Integer,
      busyPercent: z.int().min(0).max(100),
      memoryBytes: Integer,
    }),
    startedMs: Integer,
    heartbeatMs: Integer,
  })
  .meta({ id: 'Broker' });

export const Brokers = z.strictObject({ brokers: z.array(Broker) }).meta({ id: 'Brokers' });

export const Leader = z.strictObject({ leader: BrokerAddress, epoch: z.int().min(1) }).meta({ id: 'Leader' });

export const Drain = z
  .strictObject({ perSecond: z.int().min(1).max(DRAIN_PER_SECOND_MAX).default(DRAIN_PER_SECOND_DEFAULT) })
  .meta({ id: 'Drain' });

export const Draining = z.strictObject({ broker: BrokerId, segments: Integer }).meta({ id: 'Draining' });

export const Segments = z.strictObject({ segments: z.array(Segment) }).meta({ id: 'Segments' });

export const Status = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Status' });
export const Life = z.strictObject({ status: z.enum(['ok', 'leaving']) }).meta({ id: 'Life' });

const Limit = z.int().min(1);
export const About = z
  .strictObject({
    name: z.literal('kelp'),
    version: z.string(),
    formats: z.strictObject({ publish: z.array(z.string()), read: z.array(z.string()), encodings: z.array(z.string()) }),
    limits: z.strictObject({
      requestBytes: Limit,
      requestMessages: Limit,
      messageBytes: Limit,
      keyBytes: Limit,
      headers: Limit,
      headersBytes: Limit,
      jsonDepth: Limit,
      segmentsAtCreation: Limit,
      replicas: Limit,
      drainPerSecond: Limit,
      readMessages: Limit,
      readBytes: Limit,
      waitMs: Limit,
      timeoutMs: Limit,
      uploadBytes: Limit,
      uploadBatches: Limit,
      uploadBatchesBytes: Limit,
      inlineBytes: Limit,
    }),
  })
  .meta({ id: 'About' });

import * as z from 'zod/mini';
import { decodeUtf8, encodeUtf8 } from '../format/utf8.ts';
import { KelpError } from '../model/errors.ts';
import { type BrokerId, isBrokerId, isSegmentId, isTopicId, isTopicName, type SegmentId, type TopicId } from '../model/ids.ts';
import { DRAIN_PER_SECOND_MAX, PARTITIONS, REPLICAS_MAX, SEGMENTS_OPEN_MAX } from '../model/limits.ts';
import { PRESSED_SEGMENTS_MAX } from '../model/scaling-limits.ts';
import type { Bytes } from '../model/message.ts';
import { isChangeId } from '../topology/change-id.ts';

// What brokers ask of each other about control, as JSON. Members that are not known are those of a newer version, and ignored.

const text = <T extends string>(isOne: (value: string) => boolean): z.ZodMiniType<T> =>
  z.custom<T>((value) => typeof value === 'string' && isOne(value));
const count = z.int().check(z.nonnegative());
const topic = text<TopicId>(isTopicId);
const segment = text<SegmentId>(isSegmentId);
const broker = text<BrokerId>(isBrokerId);
const brokers = z.array(broker).check(z.maxLength(REPLICAS_MAX));
const partition = z.int().check(z.minimum(0), z.maximum(PARTITIONS - 1));
const id = text<string>(isChangeId);
const nothing = z.object({});
const rate = z.number().check(z.nonnegative());
const share = z.number().check(z.minimum(0), z.maximum(1));
const perSegment = <T extends z.ZodMiniType>(one: T) => z.readonly(z.array(one).check(z.maxLength(SEGMENTS_OPEN_MAX)));
const pressure = z.object({ topic, segment, throttledWrites: count, queuedMs: count });
const segments = z.readonly(z.tuple([segment, segment]));
const hotKeys = perSegment(z.object({ segment, lo: partition, hi: partition, share, load: rate }));

const splitReason = z.union([
  z.object({
    why: z.enum(['over-target', 'severe', 'throttled']),
    load: rate,
    measure: z.enum(['messages', 'bytes', 'commits']),
  }),
  z.object({ why: z.literal('minimum'), load: rate, minSegments: count }),
]);
const mergeReason = z.object({ why: z.literal('quiet'), load: rate, loadMax: rate, average: rate });
const outcome = {
  children: z.exactOptional(z.readonly(z.array(segment).check(z.maxLength(2)))),
  refused: z.exactOptional(z.string()),
};

const plan = z.object({
  topic,
  name: text<string>(isTopicName),
  segments: count,
  changes: perSegment(
    z.union([
      z.object({ kind: z.literal('split'), segment, at: partition, reason: splitReason, ...outcome }),
      z.object({ kind: z.literal('merge'), segments, reason: mergeReason, ...outcome }),
    ]),
  ),
  hotKeys,
  held: perSegment(
    z.object({
      segment,
      why: z.enum(['hot-key', 'one-partition', 'cool-down', 'limit', 'in-vain', 'not-known', 'busy']),
      load: rate,
    }),
  ),
});

const loads = z.object({
  segments: perSegment(z.object({ segment, messages: rate, bytes: rate, commits: rate, load: rate })),
  hotKeys,
});

/** By operation: its body, and its answer. */
export const PEER_MESSAGES = {
  /** The term that the asked one leads. */
  lease: { request: nothing, answer: z.object({ epoch: count, version: count }) },
  /** Which life of which broker this is, and the version of its item as it wrote it last: 0 if it has not yet. */
  probe: { request: nothing, answer: z.object({ broker, instance: z.string(), version: z.prefault(count, 0) }) },
  assign: {
    request: z.object({ topic, name: text<string>(isTopicName), segment }),
    answer: z.object({ brokers }),
  },
  suspect: { request: z.object({ topic, segment, broker }), answer: z.object({ dead: z.boolean() }) },
  drain: {
    request: z.object({ broker, perSecond: z.int().check(z.minimum(1), z.maximum(DRAIN_PER_SECOND_MAX)) }),
    answer: z.object({ segments: count }),
  },
  /** Of segments by hand. `id`: asked again under it, the change is made once. */
  change: {
    request: z.object({
      topic,
      change: z.union([
        z.object({ kind: z.literal('split'), id, segment, at: partition }),
        z.object({ kind: z.literal('merge'), id, segments }),
      ]),
    }),
    answer: z.object({
      successors: z.array(z.object({ segment, lo: partition, hi: partition, brokers: z.readonly(brokers) })),
    }),
  },
  /** Without a topic: of all of them. */
  rebalance: {
    request: z.object({ topic: z.exactOptional(topic), dryRun: z.boolean() }),
    answer: z.object({ topics: z.readonly(z.array(plan)) }),
  },
  nudge: {
    request: z.object({ topic, pressures: z.array(pressure).check(z.maxLength(PRESSED_SEGMENTS_MAX)) }),
    answer: nothing,
  },
  loads: { request: z.object({ topic }), answer: loads },
} as const;

type Schema<T> = z.ZodMiniType<T>;

export const encodeMessage = (message: unknown): Bytes => encodeUtf8(JSON.stringify(message));

/** Error `invalid`/`invalid-request`. */
export function decodeRequest<T>(schema: Schema<T>, body: Bytes): T {
  const message = decode(schema, body);
  if (message === undefined) throw new KelpError('invalid', 'invalid-request', 'the body is not what this operation takes');
  return message;
}

/** Error `unavailable`/`peer-odd`: another version of Kelp, or something else that listens there. */
export function decodeAnswer<T>(schema: Schema<T>, body: Bytes): T {
  const message = decode(schema, body);
  if (message === undefined) throw new KelpError('unavailable', 'peer-odd', 'the other broker answered something that is not understood');
  return message;
}

function decode<T>(schema: Schema<T>, body: Bytes): T | undefined {
  const json = parse(decodeUtf8(body) ?? '');
  const result = schema.safeParse(json);
  return result.success ? result.data : undefined;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

import * as z from 'zod/mini';
import { problemFrom, problemMembers } from '../format/peer-problem.ts';
import { splitBatches } from '../format/record-batch-header.ts';
import { decodeUtf8, encodeUtf8 } from '../format/utf8.ts';
import { invalid, type KelpError } from '../model/errors.ts';
import {
  isBrokerId,
  isSegmentId,
  isTopicId,
  isTopicName,
  type BrokerId,
  type CommitId,
  type SegmentId,
  type TopicId,
} from '../model/ids.ts';
import { LOAD_BUCKETS, PARTITIONS } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { SegmentRange } from '../model/topic.ts';
import type { Part, PartOutcome } from './part.ts';
import type { Forward } from './routes.ts';

// A forwarded publish: the length of the head (4 bytes, big-endian), the head as JSON, then the parts' batches as they are
// stored, one after the other. What comes back is JSON.

/** A request as the other broker gets it: what it knows of the topic itself counts. */
export type Forwarded = { readonly topic: { readonly id: TopicId; readonly name: string }; readonly parts: readonly Part[] };

const LENGTH_BYTES = 4;

const Integer = z.int().check(z.minimum(0));
const Segment = z.string().check(z.refine(isSegmentId));
const Partition = Integer.check(z.maximum(PARTITIONS - 1));

const Head = z.strictObject({
  v: z.literal(1),
  topic: z.strictObject({ id: z.string().check(z.refine(isTopicId)), name: z.string().check(z.refine(isTopicName)) }),
  parts: z.array(
    z.strictObject({
      segment: Segment,
      bytes: Integer,
      count: Integer,
      buckets: z.array(Integer).check(z.length(LOAD_BUCKETS)),
      highestTimestampMs: Integer,
      producer: z.optional(z.strictObject({ producer: z.string(), epoch: Integer, sequence: Integer })),
    }),
  ),
});
type HeadPart = z.infer<typeof Head>['parts'][number];

const KelpProblem = z.pipe(
  z.unknown(),
  z.transform((value, context) => {
    const problem = problemFrom(value);
    if (problem === undefined) context.issues.push({ code: 'custom', input: value });
    return problem as KelpError;
  }),
);

const Successor = z.strictObject({
  segment: Segment,
  lo: Partition,
  hi: Partition,
  brokers: z.optional(z.array(z.string().check(z.refine(isBrokerId)))),
});

const Outcome = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('stored'), offset: Integer, again: z.boolean() }),
  z.strictObject({ outcome: z.literal('duplicate'), offsets: z.array(z.nullable(Integer)) }),
  z.strictObject({ outcome: z.literal('refused'), error: KelpProblem, tail: Integer }),
  z.strictObject({ outcome: z.literal('sealed'), successors: z.array(Successor), deleted: z.boolean() }),
  z.strictObject({ outcome: z.literal('again') }),
  z.strictObject({
    outcome: z.literal('dead'),
    because: z.enum(['guard', 'floor']),
    guard: z.string().check(z.regex(/^(?:[0-9a-z]{22})?$/)),
    tail: Integer,
  }),
  z.strictObject({ outcome: z.literal('failed'), error: KelpProblem }),
]);
const Answer = z.strictObject({ v: z.literal(1), outcomes: z.array(Outcome) });

/** The batches are not copied. */
export function encodeForward({ topic, parts }: Pick<Forward, 'topic' | 'parts'>): Bytes[] {
  const head = encodeUtf8(JSON.stringify({ v: 1, topic: { id: topic.id, name: topic.name }, parts: parts.map(headOf) }));
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, head.length);
  return [length, head, ...parts.flatMap((part) => part.batches)];
}

function headOf({ segment, bytes, count, buckets, highestTimestampMs, producer }: Part): HeadPart {
  return { segment, bytes, count, buckets: [...buckets], highestTimestampMs, ...(producer === undefined ? {} : { producer }) };
}

/** Error `invalid-forward`: it is none, or its batches are not as it says; each one's checksum is tested. */
export function decodeForward(body: Bytes): Forwarded {
  if (body.length < LENGTH_BYTES) throw damaged(`${body.length} bytes`);
  const batchesAt = LENGTH_BYTES + new DataView(body.buffer, body.byteOffset).getUint32(0);
  if (batchesAt > body.length) throw damaged(`its head ends at ${batchesAt} of ${body.length} bytes`);
  const { topic, parts } = parsed(Head, body.subarray(LENGTH_BYTES, batchesAt));
  let at = batchesAt;
  const decoded = parts.map((part) => {
    const bytes = body.subarray(at, at + part.bytes);
    at += part.bytes;
    return partOf(part, bytes);
  });
  if (at !== body.length || parts.length === 0) throw damaged(`its ${parts.length} parts end at ${at} of ${body.length} bytes`);
  return { topic: topic as Forwarded['topic'], parts: decoded };
}

/** What a commit counts must be what is stored: a wrong number would be an offset that leads nowhere. */
function partOf({ segment, producer, ...part }: HeadPart, bytes: Bytes): Part {
  const batches: Bytes[] = [];
  let count = 0;
  let highestTimestampMs = 0;
  for (const batch of splitBatches(bytes)) {
    batches.push(batch.bytes);
    count += batch.header.count;
    highestTimestampMs = Math.max(highestTimestampMs, batch.header.maxTimestampMs);
  }
  const bucketed = part.buckets.reduce((sum, bucket) => sum + bucket, 0);
  const isAsSaid = bytes.length === part.bytes && count === part.count && bucketed === count;
  if (count === 0 || !isAsSaid || highestTimestampMs !== part.highestTimestampMs) throw damaged('its batches are not as its head says');
  return { ...part, segment: segment as SegmentId, batches, ...(producer === undefined ? {} : { producer }) };
}

export function encodeOutcomes(outcomes: readonly PartOutcome[]): Bytes {
  return encodeUtf8(JSON.stringify({ v: 1, outcomes: outcomes.map(plain) }));
}

function plain(outcome: PartOutcome): unknown {
  return 'error' in outcome ? { ...outcome, error: problemMembers(outcome.error) } : outcome;
}

/** Error `invalid-forward`: it is no answer for so many parts. */
export function decodeOutcomes(body: Bytes, parts: readonly Part[]): PartOutcome[] {
  const { outcomes } = parsed(Answer, body);
  const fits = outcomes.every((outcome, index) => outcome.outcome !== 'duplicate' || outcome.offsets.length === parts[index]?.count);
  if (outcomes.length !== parts.length || !fits) throw damaged('the answer is not for these parts');
  return outcomes.map((outcome) => {
    if (outcome.outcome === 'sealed') return { ...outcome, successors: outcome.successors.map(successorOf) };
    return outcome.outcome === 'dead' ? { ...outcome, guard: outcome.guard as CommitId | '' } : outcome;
  });
}

function successorOf({ segment, lo, hi, brokers }: z.infer<typeof Successor>): SegmentRange {
  return { segment: segment as SegmentId, lo, hi, ...(brokers === undefined ? {} : { brokers: brokers as BrokerId[] }) };
}

function parsed<T extends z.ZodMiniType>(schema: T, bytes: Bytes): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(bytes) ?? '');
  } catch {
    throw damaged('its head is no JSON');
  }
  const result = schema.safeParse(value);
  if (!result.success) throw damaged(`its head is not as it should be at ${result.error.issues[0]?.path.join('.')}`);
  return result.data;
}

const damaged = (what: string): KelpError => invalid('invalid-forward', 'body', `a forwarded publish is damaged: ${what}`);

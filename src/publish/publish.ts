import { idempotencyKey } from '../format/item-key.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { segmentNumber, type SegmentId, type TopicId, type UploadId } from '../model/ids.ts';
import { PARTITIONS } from '../model/limits.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { Compression } from '../ports/compression.ts';
import { type Admission, contentBytes, createAdmission } from './admit.ts';
import { type DeduplicateDeps, publishOnce, type RecordedRequest } from './deduplicate.ts';
import type { PartOptions } from './encode-slice.ts';
import { createForwarding } from './forward.ts';
import { createGroupCommit, type GroupDeps, type OwnGroups } from './group-commit.ts';
import type { Part, PartOutcome } from './part.ts';
import { placeSlices } from './place-slices.ts';
import type { Publisher } from './publisher.ts';
import type { PublishContent, PublishRequest, PublishResult } from './request.ts';
import type { Routes } from './routes.ts';
import { recordInMemory, recordInTable } from './request-record.ts';
import { cut, wholeContent } from './slice.ts';
import { uploadsIn } from './submit-uploads.ts';

export type PublishDeps = GroupDeps & {
  readonly compression: Compression;
  /** Bytes that this instance may hold un-acked. */
  readonly queueBytesMax?: number;
  /** SHA-256, hexadecimal. */
  readonly sha256: (text: string) => string;
  /** Where there are other brokers. */
  readonly routes?: Routes;
  /** Told of uploads that were submitted as record batches. */
  readonly batchesSubmitted?: (topic: TopicId, upload: UploadId) => void;
};

/** Random characters that tell requests without a key apart. */
const OWNER_RANDOM = 25;

type Context = DeduplicateDeps & Pick<PublishDeps, 'sha256'> & { readonly admission: Admission };

/** The way of a message in: admit, slice by segment, encode, then group by group one PUT and one commit a segment. */
export function createPublisher(deps: PublishDeps): Publisher {
  const admission = createAdmission(deps.queueBytesMax);
  const own = createGroupCommit(deps);
  const { routes } = deps;
  const forwarding = routes === undefined ? undefined : createForwarding({ ...deps, groups: own, routes });
  const context: Context = { ...deps, admission, groups: forwarding ?? own };
  return {
    publish: (topic, request, signal) => publish(context, topic, request, signal),
    accept: (topic, parts, signal) => accept({ admission, own }, { topic, parts }, signal),
    flush: (topic, segments, signal) => own.flush(topic, segments, signal),
    refreshed: (topicName) => forwarding?.refreshed(topicName),
    isFull: () => admission.isFull(),
    stop: (signal) => admission.stop(signal),
  };
}

async function publish(context: Context, topic: Topic, request: PublishRequest, signal: AbortSignal): Promise<PublishResult> {
  if (request.producer !== undefined && request.idempotency !== undefined) {
    throw invalid('invalid-header', 'Idempotency-Key', 'a producer sequence and an Idempotency-Key exclude each other');
  }
  if (isEmpty(request.content)) throw invalid('invalid-messages', 'messages', 'a request has at least one message');
  const uploads = checkedUploads(request);
  const hold = context.admission.admit(contentBytes(request.content));
  try {
    const ranges = request.segment === undefined ? topic.open : [await addressed(context, topic, request.segment, signal)];
    const whole = wholeContent(request.content, { segment: ranges[0]?.segment ?? ('' as SegmentId), lo: 0, hi: PARTITIONS - 1 });
    const options = partOptions(request);
    const endsMs = request.timeoutMs === undefined ? undefined : context.clock.monotonicMs() + request.timeoutMs;
    const results =
      request.idempotency === undefined && uploads.length === 0
        ? await placeSlices(context, { topic, slices: cut(whole, ranges), options, hold, movable: isMovable(request), endsMs }, signal)
        : await publishOnce(context, { topic, whole, ranges, options, hold, ...recording(context, topic.id, request) }, signal);
    return orTopicNotFound(results);
  } finally {
    hold.release();
  }
}

/** What another broker has handed on is committed here: its segment's brokers may have changed, but it has had its hop. */
async function accept(
  { admission, own }: { readonly admission: Admission; readonly own: OwnGroups },
  { topic, parts }: { readonly topic: Topic; readonly parts: readonly Part[] },
  signal: AbortSignal,
): Promise<readonly PartOutcome[]> {
  const hold = admission.admit(parts.reduce((sum, part) => sum + part.bytes, 0));
  try {
    return await own.submit({ topic, parts, alone: false, hold }, signal);
  } finally {
    hold.release();
  }
}

const isEmpty = (content: PublishContent): boolean =>
  content.kind === 'messages' ? content.messages.length === 0 : content.batches.length === 0;

function partOptions(request: PublishRequest): PartOptions {
  return {
    ...(request.producer === undefined ? {} : { producer: request.producer }),
    ...(request.matchTail === undefined ? {} : { matchTail: request.matchTail }),
  };
}

/** Where it is written down what may land of this request, and whose its uploads become. */
function recording(
  context: Context,
  topic: TopicId,
  { idempotency, content }: PublishRequest,
): Pick<RecordedRequest, 'record' | 'claimant'> {
  const digest = idempotency === undefined ? undefined : context.sha256(idempotency.key);
  const record =
    idempotency === undefined || digest === undefined
      ? recordInMemory()
      : recordInTable(context, idempotencyKey(topic, digest), idempotency.requestHash);
  if (uploadsIn(content).length === 0) return { record };
  return { record, claimant: { owner: digest ?? context.random.base36(OWNER_RANDOM), had: new Set() } };
}

/** Each once, and stored once in any case: a sequence would only say so again. */
function checkedUploads({ content, producer, segment }: PublishRequest): readonly UploadId[] {
  const uploads = uploadsIn(content).map(({ upload }) => upload);
  if (uploads.length > 0 && producer !== undefined) {
    throw invalid('invalid-header', 'Kelp-Producer-Id', 'uploads are stored once in any case, without a producer');
  }
  if (content.kind === 'uploaded' && segment === undefined) throw invalid('invalid-segment', 'segment', 'batches name their segment');
  if (new Set(uploads).size < uploads.length) throw invalid('invalid-upload', 'messages', 'an upload is named twice');
  return uploads;
}

/** P1: a producer's line ends with its segment, and an expected tail means this one; both are the client's to move. */
function isMovable(request: PublishRequest): boolean {
  return request.producer === undefined && request.matchTail === undefined && request.content.kind === 'messages';
}

/** The range of the segment that the client named, be it open or sealed. */
async function addressed(context: Context, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<SegmentRange> {
  const open = topic.open.find((range) => range.segment === segment);
  if (open !== undefined) return open;
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a deleted topic of this name`);
  }
  const head = await context.heads.read(topic.id, segment, signal);
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  return { segment, lo: head.lo, hi: head.hi };
}

const isGone = (result: unknown): boolean => result instanceof KelpError && result.code === 'topic-not-found';

/** Where all of it met a deleted topic, the request as a whole did: the name may have a new one. */
function orTopicNotFound(results: PublishResult): PublishResult {
  const [first] = results;
  if (first instanceof KelpError && results.every(isGone)) throw first;
  return results;
}

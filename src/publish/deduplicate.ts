import { decodeIdempotency, encodeIdempotency, type IdempotencyRecord, type RecordedPart } from '../format/idempotency-item.ts';
import { idempotencyKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import { IDEMPOTENCY_MS, MOVES_MAX } from '../model/limits.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { Key, Condition } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import { encodeSlice, type PartOptions } from './encode-slice.ts';
import type { CommitDeps } from './find-fate.ts';
import type { Part, PartOutcome } from './part.ts';
import { type PlaceDeps, segmentSealed } from './place-slices.ts';
import type { Placed } from './request.ts';
import { cut, type Slice } from './slice.ts';

export type DeduplicateDeps = PlaceDeps & Pick<CommitDeps, 'table' | 'heads' | 'commitIds' | 'clock' | 'random'>;

/** A request with an Idempotency-Key. `whole`: its content as one slice for all partitions; `ranges`: the open ones now. */
export type KeyedRequest = {
  readonly topic: Topic;
  /** SHA-256 of the key. */
  readonly digest: string;
  readonly requestHash: string;
  readonly whole: Slice;
  readonly ranges: readonly SegmentRange[];
  readonly options: PartOptions;
};

type Results = (Placed | KelpError)[];

/**
 * I1: an item says which attempts, one for each segment, may land; every handler of this request, now or in a repeat,
 * commits under these ids, each with an object of its own. An attempt is replaced on the item's version, and only once it
 * is dead. Error `conflict`/`key-reused`: another request had this key.
 */
export async function publishOnce(deps: DeduplicateDeps, request: KeyedRequest, signal: AbortSignal): Promise<Results> {
  const key = idempotencyKey(request.topic.id, request.digest);
  let record = await openRecord(deps, key, request, signal);
  for (let move = 0; move <= MOVES_MAX; move += 1) {
    const attempt = await sendParts(deps, request, record, signal);
    if (attempt.next === undefined) return attempt.results;
    record = await replace(deps, key, { from: record, to: attempt.next }, signal);
    if (attempt.final) return attempt.results;
  }
  throw new KelpError('unavailable', 'unavailable', 'the segments change too fast', { retryAfterMs: 1_000 });
}

async function openRecord(deps: DeduplicateDeps, key: Key, request: KeyedRequest, signal: AbortSignal): Promise<IdempotencyRecord> {
  const slices = cut(request.whole, request.ranges);
  const fresh: IdempotencyRecord = {
    requestHash: request.requestHash,
    version: 1,
    parts: await Promise.all(slices.map((slice) => newAttempt(deps, request.topic, slice.range, signal))),
    expiresMs: deps.clock.nowMs() + IDEMPOTENCY_MS,
  };
  const found = await putRecord(deps, key, fresh, [{ op: 'missing', path: ['hash'] }], signal);
  if (found === undefined) return fresh;
  if (found.expiresMs <= deps.clock.nowMs()) {
    const renewed = { ...fresh, version: found.version + 1 };
    const other = await putRecord(deps, key, renewed, [{ op: '=', path: ['version'], value: found.version }], signal);
    return other === undefined ? renewed : sameRequest(other, request);
  }
  return sameRequest(found, request);
}

/** Undefined if it was put; otherwise the record that is there. */
async function putRecord(
  deps: DeduplicateDeps,
  key: Key,
  record: IdempotencyRecord,
  condition: Condition,
  signal: AbortSignal,
): Promise<IdempotencyRecord | undefined> {
  // Asked again after a lost answer, it is refused by its own effect, and finds the record that it put.
  const result = await askAgain(deps, () => deps.table.put(key, encodeIdempotency(record), condition, signal), signal);
  return result.applied || result.item === undefined ? undefined : decodeIdempotency(result.item);
}

function sameRequest(found: IdempotencyRecord, request: KeyedRequest): IdempotencyRecord {
  if (found.requestHash === request.requestHash) return found;
  throw new KelpError('conflict', 'key-reused', 'another request had this Idempotency-Key', { field: 'Idempotency-Key' });
}

/** W1: the tail as it is before anybody sends under the new id. */
async function newAttempt(deps: DeduplicateDeps, topic: Topic, range: SegmentRange, signal: AbortSignal): Promise<RecordedPart> {
  const head = deps.heads.known(topic.id, range.segment) ?? (await deps.heads.read(topic.id, range.segment, signal));
  if (head === undefined) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted');
  return { range, cid: deps.commitIds.mint(head.guard), tail: head.tail };
}

/** `next`: parts to record, with new attempts for dead ones (`final` false) or with the offsets known (`final`). */
type Attempt = { readonly results: Results; readonly next: readonly RecordedPart[] | undefined; readonly final: boolean };

async function sendParts(deps: DeduplicateDeps, request: KeyedRequest, record: IdempotencyRecord, signal: AbortSignal): Promise<Attempt> {
  const slices = new Map(
    cut(
      request.whole,
      record.parts.map((part) => part.range),
    ).map((slice) => [slice.range.segment, slice]),
  );
  const results: Results = [];
  const sent = await Promise.all(
    record.parts.map(async (part): Promise<RecordedPart[]> => {
      const slice = slices.get(part.range.segment);
      if (slice === undefined) return [part];
      if (part.offset !== undefined) return placed(results, slice, part, part.offset, true);
      const outcome = await sendPart(deps, request, { slice, part }, signal);
      return settle(deps, request, { results, slice, part, outcome }, signal);
    }),
  );
  const next = sent.flat();
  const changed = next.length !== record.parts.length || next.some((part, index) => part !== record.parts[index]);
  const undecided = next.some((part, index) => part.offset === undefined && part !== record.parts[index]);
  return { results, next: changed ? next : undefined, final: !undecided };
}

/** Uploads an object of its own behind a floor, under the same id. */
async function sendPart(
  deps: DeduplicateDeps,
  request: KeyedRequest,
  { slice, part }: { readonly slice: Slice; readonly part: RecordedPart },
  signal: AbortSignal,
): Promise<PartOutcome> {
  const encoded = await encodeSlice(deps.compression, slice, { ...request.options, recorded: { cid: part.cid, tail: part.tail } });
  for (let move = 0; move <= MOVES_MAX; move += 1) {
    const [outcome] = await submit(deps, request, encoded, signal);
    if (outcome !== undefined && !(outcome.outcome === 'dead' && outcome.because === 'floor')) return outcome;
  }
  return { outcome: 'failed', error: new KelpError('unavailable', 'unavailable', 'uploads were too slow', { retryAfterMs: 1_000 }) };
}

/** Other parts may have begun, and other handlers send under the same ids: whoever stops waiting knows nothing. */
async function submit(deps: DeduplicateDeps, request: KeyedRequest, part: Part, signal: AbortSignal): Promise<readonly PartOutcome[]> {
  return deps.groups.submit({ topic: request.topic, parts: [part], alone: true }, signal).catch((cause: unknown) => {
    if (!signal.aborted) throw cause;
    return [
      { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', 'the time ended; ask again under the same key', { cause }) },
    ];
  });
}

/** What is recorded next for this part: as it is, its offset, or new attempts in place of a dead one. */
async function settle(
  deps: DeduplicateDeps,
  request: KeyedRequest,
  sent: { readonly results: Results; readonly slice: Slice; readonly part: RecordedPart; readonly outcome: PartOutcome },
  signal: AbortSignal,
): Promise<RecordedPart[]> {
  const { results, slice, part, outcome } = sent;
  switch (outcome.outcome) {
    case 'stored':
      return placed(results, slice, part, outcome.offset, false);
    case 'failed':
    case 'refused':
      for (const position of slice.positions) results[position] = outcome.error;
      return [part];
    case 'sealed': {
      if (outcome.deleted) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted');
      const movable = outcome.successors.length > 0 && request.options.matchTail === undefined && slice.content.kind === 'messages';
      if (movable) return Promise.all(outcome.successors.map((range) => newAttempt(deps, request.topic, range, signal)));
      for (const position of slice.positions) results[position] = segmentSealed(slice, outcome.successors);
      return [part];
    }
    default:
      return [await newAttempt(deps, request.topic, part.range, signal)];
  }
}

function placed(results: Results, slice: Slice, part: RecordedPart, offset: number, duplicate: boolean): RecordedPart[] {
  let next = offset;
  for (const [index, position] of slice.positions.entries()) {
    results[position] = { segment: part.range.segment, offset: next, duplicate };
    next += slice.content.kind === 'batches' ? (slice.content.batches[index]?.partitions.length ?? 0) : 1;
  }
  return [part.offset === undefined ? { ...part, offset } : part];
}

/** On the version read: another handler's replacement is taken as it is. */
async function replace(
  deps: DeduplicateDeps,
  key: Key,
  change: { readonly from: IdempotencyRecord; readonly to: readonly RecordedPart[] },
  signal: AbortSignal,
): Promise<IdempotencyRecord> {
  const next = { ...change.from, version: change.from.version + 1, parts: change.to };
  const other = await putRecord(deps, key, next, [{ op: '=', path: ['version'], value: change.from.version }], signal);
  return other ?? next;
}

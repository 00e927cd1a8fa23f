import { decodeIdempotency, encodeIdempotency, type IdempotencyRecord, type RecordedPart } from '../format/idempotency-item.ts';
import { idempotencyKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import { IDEMPOTENCY_MS, MOVES_MAX } from '../model/limits.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { Key, Condition } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import { encodeSlice, type PartOptions } from './encode-slice.ts';
import { tailMismatchError } from './commit-outcome.ts';
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
 * is dead; a refusal is recorded before it is answered, or another handler could still land what was refused.
 * Error `conflict`/`key-reused`: another request had this key.
 */
export async function publishOnce(deps: DeduplicateDeps, request: KeyedRequest, signal: AbortSignal): Promise<Results> {
  const key = idempotencyKey(request.topic.id, request.digest);
  let record = await openRecord(deps, key, request, signal);
  for (let move = 0; move <= MOVES_MAX; move += 1) {
    const attempt = await sendParts(deps, request, record, signal).catch(unknownOutcome);
    if (attempt.next === undefined) return attempt.results;
    const written = await replace(deps, key, { from: record, to: attempt.next }, signal).catch((cause: unknown) => {
      // What is stored is found again by its id: only a refusal must not be answered without its record.
      return attempt.settled === 'stored' ? undefined : unknownOutcome(cause);
    });
    if (attempt.settled !== 'no' && written?.replaced !== false) return attempt.results;
    if (written !== undefined) ({ record } = written);
  }
  throw new KelpError('indefinite', 'indefinite', 'the segments change too fast; ask again under the same key', { retryAfterMs: 1_000 });
}

/** Something of the request may be stored: no other error may be answered. A deleted topic has nothing of it any more. */
function unknownOutcome(cause: unknown): never {
  if (cause instanceof KelpError && ['topic-not-found', 'indefinite'].includes(cause.code)) throw cause;
  throw new KelpError('indefinite', 'indefinite', 'the outcome is unknown; ask again under the same key', { cause });
}

async function openRecord(deps: DeduplicateDeps, key: Key, request: KeyedRequest, signal: AbortSignal): Promise<IdempotencyRecord> {
  const slices = cut(request.whole, request.ranges);
  const fresh: IdempotencyRecord = {
    requestHash: request.requestHash,
    version: 1,
    parts: await Promise.all(slices.map((slice) => newAttempt(deps, request.topic, slice.range, signal))),
    expiresMs: deps.clock.nowMs() + IDEMPOTENCY_MS,
  };
  const found = await putRecord(deps, { key, record: fresh, condition: [{ op: 'missing', path: ['hash'] }] }, signal);
  if (found === undefined) return fresh;
  if (found.expiresMs <= deps.clock.nowMs()) {
    const renewed = { ...fresh, version: found.version + 1 };
    const other = await putRecord(
      deps,
      { key, record: renewed, condition: [{ op: '=', path: ['version'], value: found.version }] },
      signal,
    );
    return other === undefined ? renewed : sameRequest(other, request);
  }
  return sameRequest(found, request);
}

/** Undefined if it was put; otherwise the record that is there. */
async function putRecord(
  deps: DeduplicateDeps,
  { key, record, condition }: { readonly key: Key; readonly record: IdempotencyRecord; readonly condition: Condition },
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

/** `next`: parts to record, if they changed. `settled`: whether all that was sent is decided; `no`: there are new attempts. */
type Attempt = {
  readonly results: Results;
  readonly next: readonly RecordedPart[] | undefined;
  readonly settled: 'no' | 'stored' | 'refused';
};

const isDecided = (part: RecordedPart): boolean => part.offset !== undefined || part.refusedAtTail !== undefined;

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
      if (isDecided(part)) return answered(results, slice, part);
      const outcome = await sendPart(deps, request, { slice, part }, signal);
      return settle(deps, request, { results, slice, part, outcome }, signal);
    }),
  );
  const next = sent.flat();
  const before = new Set(record.parts);
  const changed = next.filter((part) => !before.has(part));
  return { results, next: changed.length > 0 ? next : undefined, settled: settledBy(changed) };
}

function settledBy(changed: readonly RecordedPart[]): Attempt['settled'] {
  if (!changed.every(isDecided)) return 'no';
  return changed.some((part) => part.refusedAtTail !== undefined) ? 'refused' : 'stored';
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
      place(results, slice, { offset: outcome.offset, duplicate: false });
      return [{ ...part, offset: outcome.offset }];
    case 'refused': {
      for (const position of slice.positions) results[position] = outcome.error;
      const tail = outcome.error.extra['tail'];
      return [typeof tail === 'number' ? { ...part, refusedAtTail: tail } : part];
    }
    case 'failed':
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

/** From the record: what another handler, or an earlier request, was told. */
function answered(results: Results, slice: Slice, part: RecordedPart): RecordedPart[] {
  if (part.offset !== undefined) place(results, slice, { offset: part.offset, duplicate: true });
  else for (const position of slice.positions) results[position] = tailMismatchError(part.refusedAtTail ?? 0);
  return [part];
}

function place(results: Results, slice: Slice, stored: { readonly offset: number; readonly duplicate: boolean }): void {
  let { offset } = stored;
  for (const [index, position] of slice.positions.entries()) {
    results[position] = { segment: slice.range.segment, offset, duplicate: stored.duplicate };
    offset += slice.content.kind === 'batches' ? (slice.content.batches[index]?.partitions.length ?? 0) : 1;
  }
}

/** On the version read: another handler's replacement is taken as it is. */
async function replace(
  deps: DeduplicateDeps,
  key: Key,
  change: { readonly from: IdempotencyRecord; readonly to: readonly RecordedPart[] },
  signal: AbortSignal,
): Promise<{ readonly replaced: boolean; readonly record: IdempotencyRecord }> {
  const record = { ...change.from, version: change.from.version + 1, parts: change.to };
  const condition: Condition = [{ op: '=', path: ['version'], value: change.from.version }];
  const other = await putRecord(deps, { key, record, condition }, signal);
  return { replaced: other === undefined, record: other ?? record };
}

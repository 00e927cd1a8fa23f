import { decodeIdempotency, encodeIdempotency, type IdempotencyRecord, type RecordedPart } from '../format/idempotency-item.ts';
import { KelpError } from '../model/errors.ts';
import { IDEMPOTENCY_MS } from '../model/limits.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { Condition, Key } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import type { CommitDeps } from './commit-deps.ts';

export type RecordDeps = Pick<CommitDeps, 'table' | 'heads' | 'commitIds' | 'clock' | 'random'>;

/** Puts the record if there is none, or over one that has expired. Error `conflict`/`key-reused`: another request's key. */
export async function openRecord(
  deps: RecordDeps,
  key: Key,
  request: { readonly requestHash: string; readonly topic: Topic; readonly ranges: readonly SegmentRange[] },
  signal: AbortSignal,
): Promise<IdempotencyRecord> {
  const { requestHash, topic, ranges } = request;
  const parts = await Promise.all(ranges.map((range) => newAttempt(deps, topic, { range, partitions: range }, signal)));
  const fresh: IdempotencyRecord = { requestHash, version: 1, parts, expiresMs: deps.clock.nowMs() + IDEMPOTENCY_MS };
  const found = await putRecord(deps, { key, record: fresh, condition: [{ op: 'missing', path: ['hash'] }] }, signal);
  if (found === undefined) return fresh;
  if (found.expiresMs > deps.clock.nowMs()) return sameRequest(found, requestHash);
  const renewed = { ...fresh, version: found.version + 1 };
  const other = await replaceRecord(deps, key, renewed, signal);
  return other === undefined ? renewed : sameRequest(other, requestHash);
}

/** On the version before it. Undefined if it was put; otherwise the record that another handler put in its place. */
export function replaceRecord(
  deps: RecordDeps,
  key: Key,
  record: IdempotencyRecord,
  signal: AbortSignal,
): Promise<IdempotencyRecord | undefined> {
  return putRecord(deps, { key, record, condition: [{ op: '=', path: ['version'], value: record.version - 1 }] }, signal);
}

async function putRecord(
  deps: RecordDeps,
  put: { readonly key: Key; readonly record: IdempotencyRecord; readonly condition: Condition },
  signal: AbortSignal,
): Promise<IdempotencyRecord | undefined> {
  // Asked again after a lost answer, it is refused by its own effect, and finds the record that it put.
  const item = encodeIdempotency(put.record);
  const result = await askAgain(deps, () => deps.table.put(put.key, item, put.condition, signal), signal);
  return result.applied || result.item === undefined ? undefined : decodeIdempotency(result.item);
}

function sameRequest(found: IdempotencyRecord, requestHash: string): IdempotencyRecord {
  if (found.requestHash === requestHash) return found;
  throw new KelpError('conflict', 'key-reused', 'another request had this Idempotency-Key', { field: 'Idempotency-Key' });
}

/** W1: with the tail as it is before anybody sends under the new id. */
export async function newAttempt(
  deps: RecordDeps,
  topic: Topic,
  { range, partitions }: Pick<RecordedPart, 'range' | 'partitions'>,
  signal: AbortSignal,
): Promise<RecordedPart> {
  const head = deps.heads.known(topic.id, range.segment) ?? (await deps.heads.read(topic.id, range.segment, signal));
  if (head === undefined) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted');
  const { lo, hi } = partitions;
  return { range, partitions: { lo, hi }, cid: deps.commitIds.mint(head.guard), tail: head.tail };
}

import { decodeIdempotency, encodeIdempotency, type IdempotencyRecord, type RecordedPart } from '../format/idempotency-item.ts';
import { KelpError } from '../model/errors.ts';
import type { CommitId, TopicId } from '../model/ids.ts';
import { IDEMPOTENCY_MS } from '../model/limits.ts';
import type { Condition, Key } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import type { CommitDeps } from './commit-deps.ts';
import { objectMinute } from './write-object.ts';

export type RecordDeps = Pick<CommitDeps, 'table' | 'heads' | 'commitIds' | 'clock' | 'random'>;

/** Where it is written down which attempts of a request may land. */
export type RequestRecord = {
  /** Whether other handlers of the same request go by it, now or later: what they do is not known here. */
  readonly shared: boolean;
  /** These parts, if nothing is recorded yet. Error `conflict`/`key-reused`: another request's key. */
  open(parts: readonly RecordedPart[], signal: AbortSignal): Promise<IdempotencyRecord>;
  /** On the version before it. Undefined if it was put; otherwise the record that another handler put in its place. */
  replace(record: IdempotencyRecord, signal: AbortSignal): Promise<IdempotencyRecord | undefined>;
};

/** Of an Idempotency-Key: in the table. One that has expired is none. */
export function recordInTable(deps: RecordDeps, key: Key, requestHash: string): RequestRecord {
  return {
    shared: true,
    async open(parts, signal) {
      const fresh: IdempotencyRecord = { requestHash, version: 1, parts, expiresMs: deps.clock.nowMs() + IDEMPOTENCY_MS };
      const found = await putRecord(deps, { key, record: fresh, condition: [{ op: 'missing', path: ['hash'] }] }, signal);
      if (found === undefined) return fresh;
      if (found.expiresMs > deps.clock.nowMs()) return sameRequest(found, requestHash);
      const renewed = { ...fresh, version: found.version + 1 };
      const other = await replaceRecord(deps, key, renewed, signal);
      return other === undefined ? renewed : sameRequest(other, requestHash);
    },
    replace: (record, signal) => replaceRecord(deps, key, record, signal),
  };
}

/** Of a request that nobody repeats under a key: what it has claimed leads to what became of it. */
export function recordInMemory(): RequestRecord {
  return {
    shared: false,
    open: async (parts) => ({ requestHash: '', version: 1, parts, expiresMs: 0 }),
    replace: async () => undefined,
  };
}

function replaceRecord(deps: RecordDeps, key: Key, record: IdempotencyRecord, signal: AbortSignal): Promise<IdempotencyRecord | undefined> {
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

export type AttemptPlace = Pick<RecordedPart, 'range' | 'partitions'> & {
  readonly topic: TopicId;
  /** Its objects are to have one minute, so that a floor ends it. */
  readonly pinned: boolean;
  /** It is to be younger than this one. */
  readonly above: CommitId | '';
};

/** W1: with the tail as it is before anybody sends under the new id. */
export async function newAttempt(deps: RecordDeps, place: AttemptPlace, signal: AbortSignal): Promise<RecordedPart> {
  const { topic, range, pinned, above } = place;
  const head = deps.heads.known(topic, range.segment) ?? (await deps.heads.read(topic, range.segment, signal));
  if (head === undefined) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted');
  const { lo, hi } = place.partitions;
  const cid = deps.commitIds.mint(head.guard > above ? head.guard : above);
  const attempt: RecordedPart = { range, partitions: { lo, hi }, cid, tail: head.tail };
  return pinned ? { ...attempt, minute: objectMinute(deps.clock.nowMs(), [head.floor]) } : attempt;
}

import { decodeHead } from '../format/head-item.ts';
import { headKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { ObjectId, TopicId } from '../model/ids.ts';
import type { UploadAttempt } from '../model/upload.ts';
import { killUpdate } from '../protocol/commit.ts';
import type { Fate, SentCommit } from '../protocol/fate.ts';
import { askAgain } from './ask-again.ts';
import { findFate } from './find-fate.ts';
import type { Heads } from './heads.ts';
import type { StoredUploadsDeps } from './stored-uploads.ts';

export type AttemptDeps = StoredUploadsDeps & { readonly heads: Heads };

/** An attempt that an upload's item names, whoever sends it. */
export type Attempt = Pick<UploadAttempt, 'segment' | 'cid' | 'tail' | 'minute'>;

/**
 * What became of it, by strong reads alone. U2: that it has landed is in the item before it leaves the index, so one that is in no page
 * and no head has not, as long as the item is the same: whoever acts on this writes on its version. Error `topic-not-found`: the segment
 * went with its topic.
 */
export async function readAttemptFate(deps: AttemptDeps, topic: TopicId, attempt: Attempt, signal: AbortSignal): Promise<Fate> {
  const head = await deps.heads.read(topic, attempt.segment, signal);
  if (head === undefined) throw topicGone();
  return findFate(deps, sentAs(attempt), head, signal);
}

/** The same once it can't land any more (K1): it has, or it is dead. Never `open`. */
export async function endAttempt(deps: AttemptDeps, topic: TopicId, attempt: Attempt, signal: AbortSignal): Promise<Fate> {
  const fate = await readAttemptFate(deps, topic, attempt, signal);
  if (fate.fate !== 'open') return fate;
  // A refused kill says that it has landed, or is dead already; the item that comes back shows which.
  const head = await kill(deps, topic, attempt, signal);
  return findFate(deps, sentAs(attempt), head, signal);
}

/** Of its objects the minute alone counts: an entry under a recorded id is its own, whatever object that names. */
function sentAs({ cid, tail, minute }: Attempt): SentCommit {
  return { cid, tail, object: { minute, id: '' as ObjectId }, recorded: true, named: true };
}

async function kill(deps: AttemptDeps, topic: TopicId, { segment, cid }: Attempt, signal: AbortSignal): Promise<Head> {
  const { item } = await askAgain(deps, () => deps.table.update(headKey(topic, segment), killUpdate(cid), signal), signal);
  if (item === undefined) throw topicGone();
  const head = decodeHead(item);
  deps.heads.offer(head);
  return head;
}

const topicGone = (): KelpError => new KelpError('not-found', 'topic-not-found', 'the topic was deleted');

import { decodeHead } from '../format/head-item.ts';
import { headKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { Minute, SegmentId, TopicId } from '../model/ids.ts';
import { floorUpdate } from '../protocol/floor.ts';
import { askThroughThrottling } from '../state/ask-again.ts';
import type { Heads } from '../state/heads.ts';
import type { StoredUploadsDeps } from '../state/stored-uploads.ts';

export type FloorDeps = StoredUploadsDeps & { readonly heads: Heads };

/**
 * Nothing of that minute or an earlier one is committed to the segment from now on. Answers its head as it is then, by the same
 * write. Among commits that keep the head busy it must come through, too. Error `segment-not-found`.
 */
export async function raiseFloor(
  deps: FloorDeps,
  { topic, segment, minute }: { readonly topic: TopicId; readonly segment: SegmentId; readonly minute: Minute },
  signal: AbortSignal,
): Promise<Head> {
  const update = floorUpdate(minute);
  const { item } = await askThroughThrottling(deps, () => deps.table.update(headKey(topic, segment), update, signal), signal);
  if (item === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  const head = decodeHead(item);
  deps.heads.offer(head);
  return head;
}

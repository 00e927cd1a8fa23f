import { decodeHead } from '../format/head-item.ts';
import { headKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import type { Minute, SegmentId, TopicId } from '../model/ids.ts';
import { floorUpdate } from '../protocol/floor.ts';
import { askThroughThrottling } from '../state/ask-again.ts';
import type { AttemptDeps } from '../state/attempt-fate.ts';

/**
 * Nothing of that minute or an earlier one is committed to the segment from now on. Among commits that keep the head busy it must
 * come through, too. Error `segment-not-found`.
 */
export async function raiseFloor(
  deps: AttemptDeps,
  { topic, segment, minute }: { readonly topic: TopicId; readonly segment: SegmentId; readonly minute: Minute },
  signal: AbortSignal,
): Promise<void> {
  const update = floorUpdate(minute);
  const { item } = await askThroughThrottling(deps, () => deps.table.update(headKey(topic, segment), update, signal), signal);
  if (item === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  deps.heads.offer(decodeHead(item));
}

import { decodeHead } from '../format/head-item.ts';
import { headKey } from '../format/item-key.ts';
import type { Head } from '../model/head.ts';
import type { Minute, SegmentId, TopicId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { floorUpdate } from '../protocol/floor.ts';
import { askThroughThrottling } from './ask-again.ts';
import type { Heads } from './heads.ts';

export type RaiseFloorDeps = { readonly table: MetadataTable; readonly heads: Heads; readonly clock: Clock; readonly random: Random };

/**
 * Nothing of that minute or an earlier one is committed to the segment from now on. Among commits that keep the head busy it must
 * come through, too. Answers the head as it is then; undefined: there is none.
 */
export async function raiseFloor(
  deps: RaiseFloorDeps,
  { topic, segment, minute }: { readonly topic: TopicId; readonly segment: SegmentId; readonly minute: Minute },
  signal: AbortSignal,
): Promise<Head | undefined> {
  const update = floorUpdate(minute);
  const { item } = await askThroughThrottling(deps, () => deps.table.update(headKey(topic, segment), update, signal), signal);
  if (item === undefined) return undefined;
  const head = decodeHead(item);
  deps.heads.offer(head);
  return head;
}

import type { Bytes } from '../model/message.ts';
import { timeOfCommitMs } from '../protocol/commit-id.ts';
import { damaged } from './damage.ts';
import type { BatchDecoder } from './decode-batch.ts';
import type { BatchSlice } from './page.ts';
import { addSlice, boundsOf, passOver } from './part-progress.ts';
import type { TakeInto } from './read-batches.ts';
import type { SplitRun } from './split-run.ts';
import { takeMessages, takeWhole } from './take-batch.ts';
import type { WantedRun } from './wanted-runs.ts';

export type TakeDeps = { readonly decoder: BatchDecoder; readonly split: SplitRun };

/** Takes what fits of one run, each batch of it verified; false where the part ends with it. Error `corrupt`. */
export async function takeRun(
  deps: TakeDeps,
  wanted: WantedRun,
  { topic, bytes: runBytes, quarantined, part, page }: TakeInto<BatchSlice> & { readonly bytes: Bytes },
): Promise<boolean> {
  const { decoder, split } = deps;
  const origin = { topic, segment: wanted.segment, object: wanted.range.key };
  for (const { offset, count, bytes, ...found } of split(runBytes, { ...wanted.run, offset: wanted.offset, quarantined })) {
    const end = offset + count;
    if (end <= part.next) continue;
    if (found.quarantined === true) {
      passOver(part, end);
      continue;
    }
    if (bytes === undefined) throw damaged({ ...origin, offset, nextOffset: end }, 'a stored object is damaged');
    const batch = { bytes, baseOffset: offset, count };
    decoder.note(batch, origin);
    const bounds = boundsOf(part, page);
    const taken = await (page.whole ? takeWhole({ ...batch, bytes: bytes.length }, bounds) : takeMessages(decoder, batch, bounds));
    if (taken.to === part.next) return false;
    const slice = { segment: wanted.segment, ...batch, from: part.next, to: taken.to, committedMs: timeOfCommitMs(wanted.cid) };
    decoder.hold(slice);
    addSlice({ part, page }, slice, taken.bytes);
    if (taken.to < end) return false;
  }
  return true;
}

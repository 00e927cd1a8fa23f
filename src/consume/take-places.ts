import type { BatchPlace } from './page.ts';
import { addSlice, boundsOf, passOver } from './part-progress.ts';
import { isTouched } from './quarantine.ts';
import type { TakeInto } from './read-batches.ts';
import type { RunHeader } from './run-headers.ts';
import { takeWhole } from './take-batch.ts';
import type { WantedRun } from './wanted-runs.ts';

/** Takes what fits of one run's batches, whole ones; false where the part ends with it. */
export function takePlaces(
  { segment, offset, range }: WantedRun,
  headers: readonly RunHeader[],
  { quarantined, part, page }: TakeInto<BatchPlace>,
): boolean {
  let next = offset;
  for (const { start, bytes, count, crc } of headers) {
    const baseOffset = next;
    next += count;
    if (next <= part.next) continue;
    if (isTouched(quarantined, { from: baseOffset, to: next })) {
      passOver(part, next);
      continue;
    }
    const taken = takeWhole({ baseOffset, count, bytes }, boundsOf(part, page));
    if (taken.to === part.next) return false;
    const place = { segment, baseOffset, count, from: part.next, to: next, object: range.key, start, bytes, crc };
    addSlice({ part, page }, place, bytes);
  }
  return true;
}

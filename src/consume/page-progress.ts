import type { SegmentId } from '../model/ids.ts';
import type { CursorState } from './cursor.ts';
import type { BatchSpan } from './page.ts';

/**
 * Where a reader is who has the first `messages` of a page, which `state` is the end of. Pure. Segments of which some of the
 * page is still to come aren't finished for this reader, however the page left them.
 */
export function stateAfter(state: CursorState, slices: readonly BatchSpan[], messages: number): CursorState {
  const reached = new Map<SegmentId, number>();
  let left = messages;
  for (const { segment, from, to } of slices) {
    const taken = Math.min(left, to - from);
    left -= taken;
    // A segment's slices come in order: one of which nothing was taken adds nothing to the one before it.
    if (taken > 0 || !reached.has(segment)) reached.set(segment, from + taken);
  }
  const positions = state.positions.map((position) => {
    const offset = position.segment === '' ? undefined : reached.get(position.segment);
    return offset === undefined || offset === position.offset ? position : { ...position, offset, finished: false };
  });
  return { ...state, positions };
}

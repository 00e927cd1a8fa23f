import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stateAfter } from '../../src/consume/page-progress.ts';
import type { BatchSlice } from '../../src/consume/page.ts';
import { segmentId } from '../../src/model/ids.ts';

/** A page of a few segments, in turns, and the state at its end. */
const pages = fc.array(fc.record({ segment: fc.nat(3), count: fc.integer({ min: 1, max: 5 }) }), { maxLength: 12 }).map((turns) => {
  const next = [10, 20, 30, 40];
  const slices = turns.map(({ segment, count }): BatchSlice => {
    const from = next[segment] ?? 0;
    next[segment] = from + count;
    return { segment: segmentId(segment), bytes: new Uint8Array(), baseOffset: from, count, from, to: from + count, committedMs: 0 };
  });
  const positions = next.map((offset, index) => ({
    lo: index * 16_384,
    hi: index * 16_384 + 16_383,
    segment: segmentId(index),
    offset,
    finished: index === 0,
  }));
  return { slices, state: { positions, readTurn: 5, probeTurn: 6 } };
});

test('reading on from any message of a page gives exactly the rest of it', () => {
  fc.assert(
    fc.property(pages, fc.nat(60), ({ slices, state }, messages) => {
      const addresses = slices.flatMap(({ segment, from, to }) =>
        Array.from({ length: to - from }, (_, index) => `${segment}:${from + index}`),
      );
      const after = stateAfter(state, slices, messages);
      const rest = state.positions.flatMap((end, index) => {
        const from = after.positions[index]?.offset ?? 0;
        return Array.from({ length: end.offset - from }, (_, delta) => `${end.segment}:${from + delta}`);
      });
      expect(rest.toSorted()).toEqual(addresses.slice(messages).toSorted());
    }),
  );
});

test('at the end of the page it is the state of the page; before it, nothing that is still to come is finished', () => {
  fc.assert(
    fc.property(pages, fc.nat(60), ({ slices, state }, messages) => {
      const total = slices.reduce((sum, { from, to }) => sum + to - from, 0);
      expect(stateAfter(state, slices, total)).toEqual(state);
      const first = stateAfter(state, slices, messages).positions[0];
      expect(first?.finished).toBe(first?.offset === state.positions[0]?.offset);
    }),
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyUpdate } from '../../src/adapters/memory/interpreter.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { entryCount, type Line } from '../../src/model/head.ts';
import { commitUpdate } from '../../src/protocol/commit.ts';
import { memberMask, memberOffsets } from '../../src/protocol/fate.ts';
import { judgeLine } from '../../src/protocol/producer-line.ts';
import { type LineAsRead, planVariant, type VariantMember } from '../../src/protocol/variant.ts';
import { cid, commitOf, objectOf, openHead } from './segment-state.ts';

const ID = cid('5a');
const member = (producer: string, sequence: number, count = 1, epoch = 0): VariantMember => ({
  count,
  producer: { producer, epoch, sequence },
});
const inHead = (next: number, epoch = 0): LineAsRead => ({ line: { epoch, next, batches: [] }, inHead: true });

describe('a variant', () => {
  test('takes the consecutive batches of one producer, each judged behind the one before', () => {
    const variant = planVariant([member('p', 3, 2), member('p', 5), member('p', 5), member('p', 9)], new Map([['p', inHead(3)]]), ID);
    expect(variant.verdicts.map(({ verdict }) => verdict)).toEqual(['next', 'next', 'duplicate', 'gap']);
    expect(variant.included).toEqual([true, true, false, false]);
    expect(variant.lines).toEqual([{ producer: 'p', before: inHead(3).line, after: expect.objectContaining({ next: 6 }) }]);
  });

  test('counts the place of a batch behind those that are in, not behind those that are not', () => {
    const variant = planVariant([member('q', 7, 10), { count: 4 }, member('p', 0, 2)], new Map(), ID);
    expect(variant.included).toEqual([false, true, true]);
    expect(variant.lines[0]?.after.batches).toEqual([{ sequence: 0, count: 2, cid: ID, delta: 4 }]);
  });

  test('demands a line that was not in the head to be absent from it', () => {
    const own: LineAsRead = { line: { epoch: 0, next: 4, batches: [] }, inHead: false };
    const [change] = planVariant([member('p', 4)], new Map([['p', own]]), ID).lines;
    expect(change).toMatchObject({ producer: 'p', before: undefined, after: { next: 5 } });
  });

  test('of nobody has no lines', () => {
    const variant = planVariant([member('p', 4), member('p', 5)], new Map([['p', inHead(9)]]), ID);
    expect(variant).toMatchObject({ included: [false, false], lines: [] });
  });
});

const arbitraryMembers = fc.array(
  fc.record({
    count: fc.integer({ min: 1, max: 5 }),
    producer: fc.option(fc.record({ producer: fc.constantFrom('p', 'q', 'r'), epoch: fc.nat({ max: 2 }), sequence: fc.nat({ max: 12 }) }), {
      nil: undefined,
    }),
  }),
  { minLength: 1, maxLength: 20 },
);
const arbitraryLines = fc.dictionary(
  fc.constantFrom('p', 'q'),
  fc.record({ epoch: fc.nat({ max: 2 }), next: fc.nat({ max: 12 }), batches: fc.constant<Line['batches']>([]) }),
);

test('a variant that lands leaves lines, mask and offsets that agree with each other', () => {
  fc.assert(
    fc.property(arbitraryMembers, arbitraryLines, (some, found) => {
      const members: VariantMember[] = some.map(({ count, producer }) => (producer === undefined ? { count } : { count, producer }));
      const lines = new Map(Object.entries(found).map(([producer, line]) => [producer, { line, inHead: true }]));
      const variant = planVariant(members, lines, ID);
      const counts = members.map(({ count }) => count);
      const taken = counts.filter((_, index) => variant.included[index]);
      fc.pre(taken.length > 0);
      const total = taken.reduce((sum, count) => sum + count, 0);
      const mask = memberMask(variant.included);
      const entry = {
        object: objectOf(ID),
        runs: taken.map((count, n) => ({ start: n, bytes: 1, count })),
        highestTimestampMs: 1,
        ...(mask === undefined ? {} : { mask }),
      };
      const stored = Object.fromEntries(
        Object.entries(found).map(([producer, line]) => [producer, { e: line.epoch, n: line.next, b: [] }]),
      );
      const result = applyUpdate({ ...openHead(), p: stored }, commitUpdate(commitOf(ID, total, { entry, lines: variant.lines })));
      const head = decodeHead(result.applied ? result.item : {});

      const [landed] = head.entries;
      if (landed === undefined) throw new Error('no entry');
      expect(entryCount(landed)).toBe(total);
      const offsets = memberOffsets(landed, counts);
      expect(offsets.map((offset) => offset !== undefined)).toEqual(variant.included);
      expect(offsets.filter((offset) => offset !== undefined)).toEqual(
        taken.map((_, n) => taken.slice(0, n).reduce((sum, count) => sum + count, 0)),
      );
      // Each stored batch is a duplicate from now on, unless a newer epoch came behind it; and its line knows its place.
      for (const [index, { count, producer }] of members.entries()) {
        if (producer === undefined || !variant.included[index]) continue;
        const line = head.lines.get(producer.producer);
        const again = judgeLine(line, { ...producer, count }).verdict;
        expect(again).toBe(line?.epoch === producer.epoch ? 'duplicate' : 'fenced');
        const known = line?.batches.find((batch) => batch.sequence === producer.sequence && line.epoch === producer.epoch);
        expect(known === undefined ? offsets[index] : landed.offset + known.delta).toBe(offsets[index]);
      }
    }),
    { numRuns: 1_000 },
  );
});

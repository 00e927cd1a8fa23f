import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyUpdate } from '../../src/adapters/memory/interpreter.ts';
import { decodeLine, encodeLine } from '../../src/format/line.ts';
import type { Line } from '../../src/model/head.ts';
import { HEAD_LINES_MAX, LINE_BATCHES_MAX } from '../../src/model/limits.ts';
import type { Item } from '../../src/ports/metadata-table.ts';
import { batchOfSequence, chooseVictims, evictedLine, extendLine, judgeLine, type LineRequest } from '../../src/protocol/producer-line.ts';
import { arbitraryHead, arbitraryLine, arbitraryProducer } from '../format/arbitrary-head.ts';
import { cid } from './segment-state.ts';

const line = (next: number, epoch = 0): Line => ({ epoch, next, batches: [] });
const request = (sequence: number, count = 1, epoch = 0): LineRequest => ({ epoch, sequence, count });

const count = fc.integer({ min: 1, max: 100 });
/** What a line can be: it remembers no batch behind its next sequence. */
const possibleLine = arbitraryLine.map((any): Line => ({
  ...any,
  batches: any.batches.filter((batch) => batch.sequence + batch.count <= any.next),
}));
const place = (n: number) => ({ cid: cid(`${n}a`), delta: 0 });
/** A line whose last commit was at this time. */
const active = (time: number): Line => ({ epoch: 0, next: 1, batches: [{ sequence: 0, count: 1, ...place(time) }] });

describe('a request is judged by its line', () => {
  test.each([
    ['the first of a new line', undefined, request(0, 3), { verdict: 'next' }],
    ['a new line that does not begin at 0', undefined, request(1), { verdict: 'gap', next: 0 }],
    ['the next', line(3), request(3), { verdict: 'next' }],
    ['all of it is there', line(3), request(0, 3), { verdict: 'duplicate' }],
    ['a part of what is there', line(3), request(1, 2), { verdict: 'duplicate' }],
    ['it straddles the end', line(4), request(2, 3), { verdict: 'overlap', next: 4 }],
    ['it is ahead', line(4), request(5), { verdict: 'gap', next: 4 }],
    ['an older epoch, whatever its sequence', line(1, 1), request(7, 1, 0), { verdict: 'fenced', epoch: 1 }],
    ['a newer epoch begins at 0', line(4), request(0, 1, 1), { verdict: 'next' }],
    ['a newer epoch that does not begin at 0', line(1, 1), request(4, 1, 2), { verdict: 'gap', next: 0 }],
  ] as const)('%s', (_, read, asked, verdict) => {
    expect(judgeLine(read, asked)).toEqual(verdict);
  });

  test('the next one leaves a line that takes it for a duplicate, and the one behind it for the next', () => {
    fc.assert(
      fc.property(fc.option(possibleLine, { nil: undefined }), count, fc.boolean(), (before, messages, isNewEpoch) => {
        const epoch = (before?.epoch ?? 0) + Number(isNewEpoch);
        const sequence = isNewEpoch ? 0 : (before?.next ?? 0);
        const asked = request(sequence, messages, epoch);
        expect(judgeLine(before, asked)).toEqual({ verdict: 'next' });
        const after = extendLine(before, asked, { cid: cid('5a'), delta: 7 });
        expect(judgeLine(after, asked)).toEqual({ verdict: 'duplicate' });
        expect(judgeLine(after, request(sequence + messages, 1, epoch))).toEqual({ verdict: 'next' });
        expect(batchOfSequence(after, sequence)).toEqual({ sequence, count: messages, cid: cid('5a'), delta: 7 });
        expect(after.batches.length).toBeLessThanOrEqual(LINE_BATCHES_MAX);
      }),
    );
  });

  test('a line remembers its last batches in order, and forgets those of an older epoch', () => {
    const six = [0, 1, 2, 3, 4, 5].reduce<Line | undefined>((before, n) => extendLine(before, request(n), place(n)), undefined);
    expect(six?.batches.map((batch) => batch.sequence)).toEqual([1, 2, 3, 4, 5]);
    expect(extendLine(six, request(0, 1, 1), place(9)).batches.map((batch) => batch.cid)).toEqual([cid('9a')]);
  });
});

describe('victims', () => {
  test('make exactly the room that is needed, and are never of the group', () => {
    fc.assert(
      fc.property(
        arbitraryHead,
        fc.uniqueArray(arbitraryProducer, { minLength: 1, maxLength: HEAD_LINES_MAX }),
        fc.nat({ max: 8 }),
        (head, added, kept) => {
          const producers = new Set([...[...head.lines.keys()].slice(0, kept), ...added].slice(0, HEAD_LINES_MAX));
          const victims = chooseVictims(head, producers);
          const after = new Set([...head.lines.keys(), ...producers]);
          for (const { producer } of victims) after.delete(producer);
          expect(after.size).toBeLessThanOrEqual(HEAD_LINES_MAX);
          expect(victims.some(({ producer }) => producers.has(producer))).toBe(false);
          const roomNeeded = new Set([...head.lines.keys(), ...producers]).size - HEAD_LINES_MAX;
          expect(victims).toHaveLength(Math.max(0, roomNeeded));
        },
      ),
    );
  });

  test('are those that were active longest ago', () => {
    const [head] = fc.sample(arbitraryHead, 1);
    if (head === undefined) throw new Error('no head');
    const lines = new Map([5, 3, 8, 1, 7, 2, 6, 4].map((time) => [`p${time}`, active(time)]));
    const victims = chooseVictims({ ...head, lines }, new Set(['new', 'newer', 'p1']));
    expect(victims.map(({ producer }) => producer)).toEqual(['p2', 'p3']);
  });
});

test('P3: an evicted line is put over an older state only', () => {
  fc.assert(
    fc.property(arbitraryLine, fc.option(arbitraryLine, { nil: undefined }), (evicted, there) => {
      const { item, condition } = evictedLine(evicted);
      const old: Item | undefined = there === undefined ? undefined : { v: 1, ...encodeLine(there) };
      const result = applyUpdate(old, { condition, changes: [{ op: 'set', path: ['put'], value: true }] });
      const isOlder = there === undefined || there.epoch < evicted.epoch || (there.epoch === evicted.epoch && there.next < evicted.next);
      expect(result.applied).toBe(isOlder);
      expect(decodeLine(item)).toEqual(evicted);
    }),
  );
});

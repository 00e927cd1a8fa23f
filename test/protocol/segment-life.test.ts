import { expect, test } from 'vitest';
import { decodeHead } from '../../src/format/head-item.ts';
import { type BrokerId, segmentId } from '../../src/model/ids.ts';
import { assignUpdate, openUpdate, type Seal, sealUpdate } from '../../src/protocol/segment-life.ts';
import { applied, isApplied, newHead, OPENED_MS, openHead } from './segment-state.ts';

const seal: Seal = { change: 'c1', successors: [{ segment: segmentId(1), lo: 0, hi: 65_535 }], deleted: false };

test('T3: a pending segment opens once, and never again', () => {
  const open = applied(newHead(), openUpdate(5));
  expect(decodeHead(open)).toMatchObject({ state: 'open', openedMs: 5 });
  expect(isApplied(open, openUpdate(6))).toBe(false);
  expect(isApplied(applied(open, sealUpdate(seal, 6)), openUpdate(7))).toBe(false);
});

test('a seal tells the successors, whose it is and when it was; asked again by anybody it changes nothing', () => {
  const sealed = applied(openHead(), sealUpdate(seal, 9));
  expect(decodeHead(sealed)).toMatchObject({ state: 'sealed', successors: seal.successors, deleted: false, change: 'c1', endedMs: 9 });
  expect(isApplied(sealed, sealUpdate(seal, 10))).toBe(false);
  expect(isApplied(sealed, sealUpdate({ ...seal, change: 'c2', deleted: true }, 10))).toBe(false);
});

test('a segment has no times before it opens, and no end before it is sealed', () => {
  const [pending, open] = [decodeHead(newHead()), decodeHead(openHead())];
  expect([pending.openedMs, pending.endedMs]).toEqual([undefined, undefined]);
  expect([open.openedMs, open.endedMs]).toEqual([OPENED_MS, undefined]);
});

test('what is not open yet is not sealed', () => {
  expect(isApplied(newHead(), sealUpdate(seal, 9))).toBe(false);
});

test('who serves a segment is decided once, while it is not sealed; also in a head without a list', () => {
  const [a, b] = ['a', 'b'] as BrokerId[] as [BrokerId, BrokerId];
  const { brokers: _, ...old } = openHead();
  for (const head of [newHead(), openHead(), old]) {
    const assigned = applied(head, assignUpdate([a, b]));
    expect(decodeHead(assigned).brokers).toEqual([a, b]);
    expect(isApplied(assigned, assignUpdate([b]))).toBe(false);
  }
  expect(isApplied(applied(openHead(), sealUpdate(seal, 9)), assignUpdate([a]))).toBe(false);
});

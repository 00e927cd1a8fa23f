import { expect, test } from 'vitest';
import { decodeHead } from '../../src/format/head-item.ts';
import { type BrokerId, segmentId } from '../../src/model/ids.ts';
import { assignUpdate, openUpdate, type Seal, sealUpdate } from '../../src/protocol/segment-life.ts';
import { applied, isApplied, newHead, openHead } from './segment-state.ts';

const seal: Seal = { change: 'c1', successors: [{ segment: segmentId(1), lo: 0, hi: 65_535 }], deleted: false };

test('T3: a pending segment opens once, and never again', () => {
  const open = applied(newHead(), openUpdate);
  expect(decodeHead(open).state).toBe('open');
  expect(isApplied(open, openUpdate)).toBe(false);
  expect(isApplied(applied(open, sealUpdate(seal)), openUpdate)).toBe(false);
});

test('a seal tells the successors, and may be asked again by its own change alone', () => {
  const sealed = applied(openHead(), sealUpdate(seal));
  expect(decodeHead(sealed)).toMatchObject({ state: 'sealed', successors: seal.successors, deleted: false });
  expect(applied(sealed, sealUpdate(seal))).toEqual(sealed);
  expect(isApplied(sealed, sealUpdate({ ...seal, change: 'c2', deleted: true }))).toBe(false);
});

test('what is not open yet is not sealed', () => {
  expect(isApplied(newHead(), sealUpdate(seal))).toBe(false);
});

test('who serves a segment is decided once, while it is not sealed; also in a head without a list', () => {
  const [a, b] = ['a', 'b'] as BrokerId[] as [BrokerId, BrokerId];
  const { brokers: _, ...old } = openHead();
  for (const head of [newHead(), openHead(), old]) {
    const assigned = applied(head, assignUpdate([a, b]));
    expect(decodeHead(assigned).brokers).toEqual([a, b]);
    expect(isApplied(assigned, assignUpdate([b]))).toBe(false);
  }
  expect(isApplied(applied(openHead(), sealUpdate(seal)), assignUpdate([a]))).toBe(false);
});

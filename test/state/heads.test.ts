import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { headKey } from '../../src/format/item-key.ts';
import type { Head } from '../../src/model/head.ts';
import { segmentId } from '../../src/model/ids.ts';
import { HEADS_KNOWN_MAX } from '../../src/model/limits.ts';
import type { Item, MetadataTable } from '../../src/ports/metadata-table.ts';
import { commitUpdate } from '../../src/protocol/commit.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { createHeads } from '../../src/state/heads.ts';
import { applied, cid, commitOf, openHead, SEGMENT, TOPIC } from '../protocol/segment-state.ts';

const { signal } = new AbortController();
const zero = openHead();
const one = applied(zero, commitUpdate(commitOf(cid('5a'))));
const two = applied(one, commitUpdate(commitOf(cid('6a'))));
const sealed = applied(two, sealUpdate({ change: 'c', successors: [], deleted: false }, 9));

const tableWith = async (item: Item): Promise<MetadataTable> => {
  const table = createMemoryTable();
  await table.put(headKey(TOPIC, SEGMENT), item, [], signal);
  return table;
};
const known = (offered: readonly Item[]): Head | undefined => {
  const heads = createHeads(createMemoryTable());
  for (const item of offered) heads.offer(decodeHead(item));
  return heads.known(TOPIC, SEGMENT);
};

describe('heads', () => {
  test('that come in any order leave the newest', () => {
    expect(known([two, zero, one])?.tail).toBe(2);
    expect(known([sealed, two])?.state).toBe('sealed');
    expect(known([])).toBeUndefined();
  });

  test('F19: a stale read does not make the tail go back', async () => {
    const heads = createHeads(await tableWith(one));
    heads.offer(decodeHead(two));
    expect((await heads.read(TOPIC, SEGMENT, signal))?.tail).toBe(2);
    expect(heads.known(TOPIC, SEGMENT)?.tail).toBe(2);
  });

  test('are read from the table, and known from then on', async () => {
    const heads = createHeads(await tableWith(two));
    expect(heads.known(TOPIC, SEGMENT)).toBeUndefined();
    expect((await heads.read(TOPIC, SEGMENT, signal))?.tail).toBe(2);
    expect(heads.known(TOPIC, SEGMENT)?.tail).toBe(2);
    expect(await heads.read(TOPIC, segmentId(1), signal)).toBeUndefined();
  });

  test('are bounded, and the one that was written longest ago goes', () => {
    const heads = createHeads(createMemoryTable());
    for (let n = 0; n <= HEADS_KNOWN_MAX; n += 1) heads.offer({ ...decodeHead(zero), segment: segmentId(n) });
    expect(heads.known(TOPIC, segmentId(0))).toBeUndefined();
    expect(heads.known(TOPIC, segmentId(1))).toBeDefined();
    expect(heads.known(TOPIC, segmentId(HEADS_KNOWN_MAX))).toBeDefined();
  });
});

describe('a listener', () => {
  test('hears each newer head of its segment once, until it ends', () => {
    const heads = createHeads(createMemoryTable());
    const tails: number[] = [];
    const end = heads.subscribe(TOPIC, SEGMENT, (head) => tails.push(head.tail));
    for (const item of [one, one, zero, two]) heads.offer(decodeHead(item));
    heads.offer({ ...decodeHead(two), segment: segmentId(1) });
    end();
    heads.offer(decodeHead(sealed));
    expect(tails).toEqual([1, 2]);
  });

  test('that ends twice does not end the ones that came after', () => {
    const heads = createHeads(createMemoryTable());
    const tails: number[] = [];
    const end = heads.subscribe(TOPIC, SEGMENT, () => undefined);
    end();
    heads.subscribe(TOPIC, SEGMENT, (head) => tails.push(head.tail));
    end();
    heads.offer(decodeHead(one));
    expect(tails).toEqual([1]);
  });
});

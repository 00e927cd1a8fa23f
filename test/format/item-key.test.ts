import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as keys from '../../src/format/item-key.ts';
import type { TopicId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';

const topic = 't123456789012345' as TopicId;

test('pages sort by their first offset, in front of all else of their segment', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
      expect(keys.pageSortKey(a) < keys.pageSortKey(b)).toBe(a < b);
      expect(keys.pageSortKey(a)).toMatch(/^p\d{16}$/);
    }),
  );
});

test('no two kinds of item share a key', () => {
  const segment = segmentId(3);
  const all = [
    keys.nameKey('main', 'x'),
    keys.topicKey(topic),
    keys.segmentKey(topic, segment),
    keys.headKey(topic, segment),
    keys.deletionKey('main', topic),
    keys.pageKey(topic, segment, 0),
    keys.lineKey(topic, segment, 'head'),
    keys.idempotencyKey(topic, 'ff'),
  ];
  expect(new Set(all.map(({ pk }) => pk.slice(0, 2))).size).toBe(all.length);
  expect(keys.scalingKey(topic)).toEqual({ ...keys.topicKey(topic), sk: 'scaling' });
  expect(keys.loadMemoryKey(topic, 7)).toEqual({ ...keys.topicKey(topic), sk: 'load#7' });
  expect(keys.loadMemoryNumber('load#7')).toBe(7);
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { batchObjectKey, batchObjectPrefix, parseBatchObjectKey } from '../../src/format/object-key.ts';
import { minuteOf, type ObjectId, type TopicId } from '../../src/model/ids.ts';
import { arbitraryId } from './arbitrary-id.ts';

const arbitraryName = fc.record({
  topic: arbitraryId as fc.Arbitrary<TopicId>,
  // Eight digits of minutes last until the year 2160.
  minute: fc.nat({ max: 5_999_999_999_999 }).map(minuteOf),
  id: arbitraryId as fc.Arbitrary<ObjectId>,
});

describe('object key', () => {
  test('is made of the ids and comes back', () => {
    fc.assert(
      fc.property(arbitraryName, (name) => {
        const key = batchObjectKey(name.topic, name.minute, name.id);
        // The store treats empty and dotted parts, and other characters, in ways of its own.
        expect(key).toMatch(/^[0-9a-z]+(\/[0-9a-z]+)+$/);
        expect(key.startsWith(batchObjectPrefix(name.topic))).toBe(true);
        expect(parseBatchObjectKey(key)).toEqual(name);
      }),
    );
  });

  test('sorts by minute within a topic, in byte order', () => {
    const topic = 'tabcdefghijklmno' as TopicId;
    const key = (timeMs: number, id: string): string => batchObjectKey(topic, minuteOf(timeMs), id as ObjectId);
    const keys = [
      key(0, 'z000000000000000'),
      key(59_999, 'z000000000000001'),
      key(60_000, 'a000000000000000'),
      key(1_700_000_000_000, 'a000000000000001'),
    ];
    expect(keys.toSorted()).toEqual(keys);
    expect(keys[3]).toBe('log/tabcdefghijklmno/28333333/a000000000000001');
  });

  test.each([
    '',
    'log/',
    'log/tabcdefghijklmno/28333333/',
    'log/tabcdefghijklmno/28333333/a00000000000000',
    'log/tabcdefghijklmno//28333333/a000000000000001',
    'log/../28333333/a000000000000001',
    'log/Tabcdefghijklmno/28333333/a000000000000001',
    'uploads/tabcdefghijklmno/28333333/a000000000000001',
    'log/tabcdefghijklmno/28333333/a000000000000001\n',
  ])('%j is none', (key) => {
    expect(parseBatchObjectKey(key)).toBeUndefined();
  });
});

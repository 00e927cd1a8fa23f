import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  archivedFileKey,
  archivedFilesPrefix,
  batchObjectKey,
  batchObjectPrefix,
  parseArchivedFileKey,
  parseBatchObjectKey,
} from '../../src/format/object-key.ts';
import { dateOf } from '../../src/model/archived-file.ts';
import { minuteOf, type ObjectId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { TIMESTAMP_MS_MAX } from '../../src/model/limits.ts';
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

const arbitraryFile = fc
  .record({
    name: fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}$/),
    topic: arbitraryId as fc.Arbitrary<TopicId>,
    segment: fc.nat().map(segmentId),
    date: fc.integer({ min: 0, max: TIMESTAMP_MS_MAX }).map(dateOf),
    offsets: fc.tuple(fc.maxSafeNat(), fc.maxSafeNat()),
  })
  .map(({ offsets: [a, b], ...rest }) => ({ ...rest, first: Math.min(a, b), last: Math.max(a, b) }));

describe('key of an archived file', () => {
  test('is made of name, id, date, segment and offsets, and comes back', () => {
    fc.assert(
      fc.property(arbitraryFile, ({ name, ...file }) => {
        const key = archivedFileKey(name, file);
        expect(key.startsWith(archivedFilesPrefix(name, file.topic))).toBe(true);
        expect(parseArchivedFileKey(key)).toEqual({ name, ...file });
      }),
    );
  });

  test('reads as FORMAT.md has it', () => {
    const file = { topic: 'tabcdefghijklmno' as TopicId, segment: segmentId(1), date: dateOf(1_793_000_000_000), first: 0, last: 41 };
    expect(archivedFileKey('us.flights_2', file)).toBe(
      'topics/us.flights_2.tabcdefghijklmno/kelp_date=2026-10-26/kelp_segment=s0000001/0000000000000000-0000000000000041.parquet',
    );
  });

  test.each([
    'topics/flights/kelp_date=2026-10-26/kelp_segment=s0000001/0000000000000000-0000000000000041.parquet',
    'topics/flights.tabcdefghijklmno/kelp_date=2026-10-26/kelp_segment=s0000001/0-41.parquet',
    'topics/flights.tabcdefghijklmno/kelp_date=today/kelp_segment=s0000001/0000000000000000-0000000000000041.parquet',
    'topics/flights.tabcdefghijklmno/kelp_date=2026-10-26/kelp_segment=s0000001/0000000000000000-0000000000000041.parquet.tmp',
  ])('%s is none', (key) => {
    expect(parseArchivedFileKey(key)).toBeUndefined();
  });
});

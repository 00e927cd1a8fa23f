import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { PARTITIONS, SEGMENTS_AT_CREATION_MAX } from '../../src/model/limits.ts';
import { TENANT_DEFAULT, type Topic, type TopologyChange } from '../../src/model/topic.ts';
import { equalRanges, isBusy, withIntents, withPublished } from '../../src/topology/plan-change.ts';
import { tiles } from './tiles.ts';

const counts = Array.from({ length: SEGMENTS_AT_CREATION_MAX }, (_, n) => n + 1);

test.each(counts)('%i equal ranges tile all partitions, and differ by one at most', (count) => {
  const ranges = equalRanges(count, 7);
  expect(ranges.map(({ segment }) => segment)).toEqual(Array.from({ length: count }, (_, n) => segmentId(7 + n)));
  expect(tiles(ranges)).toBe(true);
  const widths = ranges.map(({ lo, hi }) => hi - lo + 1);
  expect(Math.max(...widths) - Math.min(...widths)).toBeLessThanOrEqual(1);
});

test('a range list with a hole, an overlap or a short end does not tile', () => {
  const [low, high] = equalRanges(2, 0);
  if (low === undefined || high === undefined) throw new Error('no ranges');
  expect([[low], [high], [low, low, high], [low, { ...high, lo: high.lo + 1 }], [low, { ...high, hi: PARTITIONS }], []].map(tiles)).toEqual(
    Array.from({ length: 6 }, () => false),
  );
});

const change = (id: string, more: Partial<TopologyChange>): TopologyChange => ({ id, kind: 'create', parents: [], children: [], ...more });
const topicOf = (segments: number): Topic => ({
  id: 't000000000000001' as TopicId,
  name: 't',
  tenant: TENANT_DEFAULT,
  settings: { partitionKey: 'key', segments, replicas: 2 },
  state: 'active',
  version: 1,
  firstSegment: 0,
  nextSegment: segments,
  open: equalRanges(segments, 0),
  changes: [],
  createdMs: 0,
});

describe('a change', () => {
  const topic = topicOf(2);
  const [low] = topic.open;
  const split = change('c1', {
    parents: [segmentId(0)],
    children: [
      { segment: segmentId(2), lo: 0, hi: 99 },
      { segment: segmentId(3), lo: 100, hi: low?.hi ?? 0 },
    ],
  });

  test('takes its children’s ids from the topic’s counter, and raises the version', () => {
    expect(withIntents(topic, [split])).toMatchObject({ version: 2, nextSegment: 4, changes: [split], open: topic.open, state: 'active' });
    expect(() => withIntents(withIntents(topic, [split]), [split])).toThrow('do not have the next ids');
  });

  test('puts its children in the place of its parents, once', () => {
    const published = withPublished(withIntents(topic, [split]), [split]);
    if (published === undefined) throw new Error('not published');
    expect(published).toMatchObject({ version: 3, changes: [] });
    expect(published.open.map(({ segment }) => segment)).toEqual([segmentId(2), segmentId(3), segmentId(1)]);
    expect(tiles(published.open)).toBe(true);
    expect(withPublished(published, [split])).toBeUndefined();
  });

  test('keeps others from its parents, and a creation from everything', () => {
    const pending = withIntents(topic, [split]);
    expect(isBusy(pending, [change('c2', { parents: [segmentId(0)] })])).toBe(true);
    expect(isBusy(topic, [change('c2', { parents: [segmentId(0)] })])).toBe(false);
    expect(isBusy({ ...topic, changes: [change('c0', {})] }, [change('c2', { parents: [segmentId(1)] })])).toBe(true);
  });

  test('that deletes leaves no segment open', () => {
    const deletion = change('c1', { kind: 'delete', parents: topic.open.map(({ segment }) => segment) });
    const intended = withIntents(topic, [deletion]);
    expect(intended.state).toBe('deleting');
    expect(withPublished(intended, [deletion])).toMatchObject({ state: 'deleted', open: [] });
  });
});

test('whatever is split and merged, the open ranges tile', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.tuple(fc.nat(), fc.boolean(), fc.nat()), { maxLength: 30 }),
      (segments, steps) => {
        let topic = topicOf(segments);
        for (const [which, isMerge, at] of steps) {
          const index = which % topic.open.length;
          const first = topic.open[index];
          const second = topic.open[index + 1];
          if (first === undefined) continue;
          const next = topic.nextSegment;
          const middle = first.lo + (at % Math.max(1, first.hi - first.lo));
          if (isMerge && second === undefined) continue;
          if (!isMerge && first.lo === first.hi) continue;
          const children =
            isMerge && second !== undefined
              ? [{ segment: segmentId(next), lo: first.lo, hi: second.hi }]
              : [
                  { segment: segmentId(next), lo: first.lo, hi: middle },
                  { segment: segmentId(next + 1), lo: middle + 1, hi: first.hi },
                ];
          const parents = isMerge && second !== undefined ? [first.segment, second.segment] : [first.segment];
          const one = change(`c${next}`, { parents, children });
          const published = withPublished(withIntents(topic, [one]), [one]);
          if (published === undefined) throw new Error('not published');
          topic = published;
          expect(tiles(topic.open)).toBe(true);
        }
      },
    ),
  );
});

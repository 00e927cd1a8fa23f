import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import { openAt } from '../../src/topics/open-at.ts';
import type { SegmentDescription } from '../../src/topics/topics.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';

const topic = { createdMs: 100 };

type Times = Pick<SegmentDescription, 'openedMs' | 'endedMs'>;

/** One range that goes from segment to segment, as by fail-overs; the last one is open. */
function chain(...times: readonly Times[]): SegmentDescription[] {
  return times.map((known, n) => ({
    segment: segmentId(n),
    state: n === times.length - 1 ? 'open' : 'sealed',
    lo: 0,
    hi: 65_535,
    start: 0,
    tail: 0,
    predecessors: n === 0 ? [] : [segmentId(n - 1)],
    successors: n === times.length - 1 ? [] : [segmentId(n + 1)],
    ...known,
  }));
}
const numbersAt = (segments: readonly SegmentDescription[], atMs: number): number[] => {
  const ids = segments.map(({ segment }) => segment);
  return openAt(segments, topic, atMs).map(({ segment }) => ids.indexOf(segment));
};

test('a segment is open from its opening until its seal', () => {
  const segments = chain({ openedMs: 100, endedMs: 200 }, { openedMs: 201, endedMs: 300 }, { openedMs: 300 });
  expect([99, 100, 199, 200, 201, 299, 300, 10_000].map((atMs) => numbersAt(segments, atMs))).toEqual([
    [],
    [0],
    [0],
    [],
    [1],
    [1],
    [2],
    [2],
  ]);
});

const WANTING: readonly (readonly [what: string, times: readonly Times[], at: Readonly<Record<number, readonly number[]>>])[] = [
  ['open since the topic was made, if nobody knows when', [{}], { 99: [], 100: [0], 500: [0] }],
  ['until its successor opened, if nobody knows when it ended', [{ openedMs: 100 }, { openedMs: 200 }], { 199: [0], 200: [1] }],
  ['since its predecessor ended, if nobody knows when it opened', [{ openedMs: 100, endedMs: 200 }, {}], { 199: [0], 200: [1] }],
  ['never, if neither it nor its successor knows anything', [{}, {}], { 99: [], 100: [1], 500: [1] }],
  ['of several that know nothing the last', [{}, {}, { endedMs: 300 }, { openedMs: 301 }], { 100: [2], 299: [2], 301: [3] }],
  ['since the latest time of those before it', [{}, { openedMs: 200 }, {}, {}], { 100: [0], 199: [0], 200: [3] }],
];

test.each(WANTING)('%s', (_, times, at) => {
  for (const [atMs, numbers] of Object.entries(at)) expect([atMs, numbersAt(chain(...times), Number(atMs))]).toEqual([atMs, numbers]);
});

test('what is pending was never open; what it follows is shown until it opens', () => {
  const [parent, child] = chain({ openedMs: 100 }, {}) as [SegmentDescription, SegmentDescription];
  expect(numbersAt([parent, { ...child, state: 'pending' }], 500)).toEqual([0]);
});

test('of a split, the first child that opened ends the parent', () => {
  const [parent, low, high] = chain({ openedMs: 100 }, { openedMs: 300 }, { openedMs: 200 }) as [
    SegmentDescription,
    SegmentDescription,
    SegmentDescription,
  ];
  const halves = [
    { ...parent, successors: [low.segment, high.segment] },
    { ...low, state: 'open' as const, successors: [] },
    { ...high, predecessors: [parent.segment] },
  ];
  expect([199, 200, 300].map((atMs) => numbersAt(halves, atMs))).toEqual([[0], [2], [1, 2]]);
});

test('however many times are not known, at most one of a range that moved on is there, and one at each time of today', () => {
  const maybe = (ms: number, name: keyof Times) => fc.boolean().map((known): Times => (known ? { [name]: ms } : {}));
  const times = fc
    .integer({ min: 1, max: 6 })
    .chain((count) =>
      fc.tuple(
        ...Array.from({ length: count }, (_, n) =>
          fc
            .tuple(maybe(100 + 10 * n, 'openedMs'), n === count - 1 ? fc.constant({}) : maybe(110 + 10 * n, 'endedMs'))
            .map(([opened, ended]): Times => ({ ...opened, ...ended })),
        ),
      ),
    );
  fc.assert(
    fc.property(times, fc.integer({ min: 90, max: 200 }), (each, atMs) => {
      const found = numbersAt(chain(...each), atMs);
      expect(found.length).toBeLessThanOrEqual(1);
      if (atMs >= 100 + 10 * each.length) expect(found).toEqual([each.length - 1]);
    }),
  );
});

test('segments of a topic at times of its life', async () => {
  const world = createTestWorld();
  const before = await world.topic();
  await world.clock.advance(1_000);
  const after = await replaceSegment(world, before, { segment: segmentId(0), children: 2 });
  const { topics } = world.broker();
  const at = async (ms: number): Promise<SegmentId[]> =>
    (await world.run(topics.segmentsAt(after, before.createdMs + ms, world.signal))).map(({ segment }) => segment);
  expect(await at(-1)).toEqual([]);
  expect(await at(0)).toEqual([segmentId(0)]);
  expect(await at(999)).toEqual([segmentId(0)]);
  expect(await at(1_000)).toEqual([segmentId(1), segmentId(2)]);
});

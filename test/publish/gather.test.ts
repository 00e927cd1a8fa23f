import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import { GROUP_BYTES_MAX, GROUP_MEMBERS_MAX, HEAD_LINES_MAX } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import { gather, linesOf, type Queued } from '../../src/publish/gather.ts';
import type { Part } from '../../src/publish/part.ts';

type Sketch = {
  readonly name: string;
  readonly parts: readonly { readonly segment: number; readonly producer?: string }[];
  readonly bytes?: number;
  readonly alone?: boolean;
};
type Named = Queued & { readonly name: string };

const hold = { share: () => undefined, release: () => undefined };
const partOf = (segment: SegmentId, producer: string | undefined): Part => ({
  segment,
  batches: [],
  bytes: 0,
  count: 1,
  buckets: [],
  highestTimestampMs: 0,
  ...(producer === undefined ? {} : { producer: { producer, epoch: 0, sequence: 0 } }),
});
const queued = ({ name, parts, bytes = 10, alone = false }: Sketch): Named => ({
  name,
  bytes,
  submission: { topic: {} as Topic, alone, hold, parts: parts.map(({ segment, producer }) => partOf(segmentId(segment), producer)) },
});
const plain = (name: string, more: Partial<Sketch> = {}): Sketch => ({ name, parts: [{ segment: 0 }], ...more });
const of = (name: string, producer: string, segment = 0): Sketch => ({ name, parts: [{ segment, producer }] });

type Busy = { readonly lines?: readonly string[]; readonly segments?: readonly number[] };
const gathered = (sketches: readonly Sketch[], { lines = [], segments = [] }: Busy = {}): string[] =>
  gather(sketches.map(queued), new Set(lines), new Set(segments.map(segmentId))).map(({ name }) => name);

describe('a group', () => {
  test('takes what is queued, oldest first', () => {
    expect(gathered([plain('a'), plain('b'), plain('c')])).toEqual(['a', 'b', 'c']);
  });

  test('takes one request of any size, and others up to its bytes', () => {
    expect(gathered([plain('a', { bytes: 2 * GROUP_BYTES_MAX }), plain('b')])).toEqual(['a']);
    expect(gathered([plain('a', { bytes: 10 }), plain('b', { bytes: GROUP_BYTES_MAX }), plain('c')])).toEqual(['a', 'c']);
  });

  test('leaves what must be alone to a group of its own', () => {
    expect(gathered([plain('a'), plain('b', { alone: true }), plain('c')])).toEqual(['a', 'c']);
    expect(gathered([plain('b', { alone: true }), plain('c')])).toEqual(['b']);
  });

  test('has as many members of a segment as a mask has bits', () => {
    const many = Array.from({ length: GROUP_MEMBERS_MAX + 5 }, (_, n) => plain(`${n}`));
    expect(gathered([...many, { name: 'other', parts: [{ segment: 1 }] }])).toHaveLength(GROUP_MEMBERS_MAX + 1);
  });

  test('has as many producers of a segment as a head has lines', () => {
    const producers = Array.from({ length: HEAD_LINES_MAX + 2 }, (_, n) => of(`${n}`, `p${n}`));
    expect(gathered([...producers, of('again', 'p0'), of('elsewhere', 'p9', 1)])).toEqual([
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      'again',
      'elsewhere',
    ]);
  });

  test('holds back a line with a batch in flight, and all that stands behind it in that line', () => {
    expect(gathered([of('p1', 'p'), of('q1', 'q'), of('p2', 'p')], { lines: ['s0000000/p'] })).toEqual(['q1']);
    // p1 waits for q, which is busy, in another segment: p2 must not overtake it.
    const both: Sketch = {
      name: 'p1',
      parts: [
        { segment: 0, producer: 'p' },
        { segment: 1, producer: 'q' },
      ],
    };
    expect(gathered([both, of('p2', 'p')], { lines: ['s0000001/q'] })).toEqual([]);
  });

  test('leaves what touches a busy segment, and what stands behind it in its line', () => {
    const both: Sketch = { name: 'both', parts: [{ segment: 0 }, { segment: 1, producer: 'p' }] };
    expect(gathered([plain('a'), both, of('p2', 'p', 1), of('q', 'q', 1)], { segments: [0] })).toEqual(['q']);
  });
});

const sketch = fc.record({
  parts: fc.array(fc.record({ segment: fc.nat({ max: 2 }), producer: fc.option(fc.constantFrom('p', 'q'), { nil: undefined }) }), {
    minLength: 1,
    maxLength: 2,
  }),
  bytes: fc.constantFrom(1, 100, GROUP_BYTES_MAX / 4, GROUP_BYTES_MAX),
  alone: fc.boolean(),
});

test('groups end, take everything once, and keep the order of each line', () => {
  fc.assert(
    fc.property(fc.array(sketch, { maxLength: 40 }), (sketches) => {
      let queue = sketches.map(({ parts, ...rest }, n) =>
        queued({
          name: String(n),
          ...rest,
          parts: parts.map(({ segment, producer }) => (producer === undefined ? { segment } : { segment, producer })),
        }),
      );
      const order: Named[] = [];
      while (queue.length > 0) {
        const group = gather(queue, new Set(), new Set());
        expect(group[0]).toBe(queue[0]);
        expect(group.length === 1 || group.every(({ submission }) => !submission.alone)).toBe(true);
        expect(group.length === 1 || group.reduce((sum, { bytes }) => sum + bytes, 0) <= GROUP_BYTES_MAX).toBe(true);
        order.push(...group);
        queue = queue.filter((one) => !group.includes(one));
      }
      expect(order.map(({ name }) => Number(name)).toSorted((a, b) => a - b)).toEqual(sketches.map((_, n) => n));
      for (const line of ['s0000000/p', 's0000001/q']) {
        const ofLine = order.filter(({ submission }) => linesOf(submission).includes(line)).map(({ name }) => Number(name));
        expect(ofLine).toEqual(ofLine.toSorted((a, b) => a - b));
      }
    }),
  );
});

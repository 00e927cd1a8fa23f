import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BEGINNING, newestPositions, openNext, type Position, replace, type SegmentFacts } from '../../src/consume/lineage.ts';
import { segmentId, type SegmentId } from '../../src/model/ids.ts';
import { PARTITIONS } from '../../src/model/limits.ts';
import type { Range, SegmentRange } from '../../src/model/topic.ts';
import { commands, createTopology, type Effects, faultsOf, run, type Written } from './topology.ts';

type Kept = SegmentRange & {
  state: 'pending' | 'open' | 'sealed';
  start: number;
  tail: number;
  readonly predecessors: readonly SegmentId[];
};

/** Segments in memory. */
function createSegments() {
  const segments: Kept[] = [];
  const written: Written[] = [];
  const of = (segment: SegmentId): Kept => {
    const kept = segments.find((one) => one.segment === segment);
    if (kept === undefined) throw new Error(`no segment ${segment}`);
    return kept;
  };
  const effects: Effects = {
    async make(range, predecessors) {
      const segment = segmentId(segments.length);
      segments.push({ ...range, segment, state: 'pending', start: 0, tail: 0, predecessors });
      return segment;
    },
    async seal(segment) {
      of(segment).state = 'sealed';
    },
    async open(segment) {
      of(segment).state = 'open';
    },
    async write(segment, partition) {
      written.push({ segment, offset: of(segment).tail, partition });
      of(segment).tail += 1;
    },
  };
  const factsOf = (segment: SegmentId): SegmentFacts => ({ ...of(segment), sealed: of(segment).state === 'sealed' });
  return { segments, written, of, effects, factsOf };
}
type Segments = ReturnType<typeof createSegments>;

/** A reader that knows nothing of states but what it asks for. */
function createReader(kept: Segments, first: readonly Position[] = BEGINNING) {
  let positions = first;
  const read: Written[] = [];

  function open(): void {
    const facts = new Map<SegmentId, SegmentFacts>();
    for (;;) {
      const opening = openNext(positions, kept.segments, (segment) => facts.get(segment));
      positions = opening.positions;
      if (opening.unknown.length === 0) return;
      for (const segment of opening.unknown) facts.set(segment, kept.factsOf(segment));
    }
  }

  return {
    read,
    positions: () => positions,
    async step(turn: number, count: number): Promise<void> {
      open();
      const reading = positions.filter((position) => !position.finished);
      const position = reading[turn % reading.length];
      if (position === undefined || position.segment === '') throw new Error('a reader always has something to read or to wait for');
      const { segment } = position;
      const { start, tail, state } = kept.of(segment);
      let offset = Math.max(position.offset, start);
      for (let taken = 0; taken < count && offset < tail; taken += 1, offset += 1) read.push({ segment, offset, partition: 0 });
      positions = replace(positions, { ...position, offset, finished: state === 'sealed' && offset === tail });
    },
  };
}

const tiles = (ranges: readonly Range[]): boolean => {
  let next = 0;
  for (const { lo, hi } of ranges) {
    if (lo !== next || hi < lo) return false;
    next = hi + 1;
  }
  return next === PARTITIONS;
};

/** Ends the changes under way, and reads until there is nothing left. */
async function finish(
  kept: Segments,
  topology: Awaited<ReturnType<typeof createTopology>>,
  reader: ReturnType<typeof createReader>,
): Promise<void> {
  while (!topology.isQuiet()) await topology.step();
  for (let idle = 0, turn = 0; idle < 4 * kept.segments.length + 4; turn += 1) {
    const before = JSON.stringify(reader.positions());
    await reader.step(turn, 10);
    idle = JSON.stringify(reader.positions()) === before ? idle + 1 : 0;
  }
}

describe('openNext', () => {
  test('from the beginning, every message is read once, after all of its segment’s predecessors, whatever splits and merges', async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (history) => {
        const kept = createSegments();
        const topology = await createTopology(kept.effects);
        const reader = createReader(kept);
        for (const command of history) {
          await run(topology, command, reader.step);
          expect(tiles(reader.positions())).toBe(true);
        }
        await finish(kept, topology, reader);
        expect(faultsOf(reader.read, kept.written, (segment) => kept.of(segment).predecessors)).toEqual([]);
        expect(reader.positions().every(({ segment, finished }) => !finished && segment !== '' && kept.of(segment).state === 'open')).toBe(
          true,
        );
      }),
      { numRuns: 500 },
    );
  });

  test('where old messages are cut off meanwhile, the others still come once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(commands, fc.array(fc.nat({ max: 9 })), async (history, cuts) => {
        const kept = createSegments();
        const topology = await createTopology(kept.effects);
        const reader = createReader(kept);
        for (const [index, command] of history.entries()) {
          await run(topology, command, reader.step);
          const cut = kept.segments[cuts[index] ?? -1];
          if (cut?.state === 'sealed') cut.start = index % 2 === 0 ? cut.tail : Math.min(cut.start + 1, cut.tail);
        }
        await finish(kept, topology, reader);
        const wasRead = new Set(reader.read.map(({ segment, offset }) => `${segment}:${offset}`));
        const left = kept.written.filter(({ segment, offset }) => offset >= kept.of(segment).start || wasRead.has(`${segment}:${offset}`));
        expect(faultsOf(reader.read, left, (segment) => kept.of(segment).predecessors)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test('C1 S splits into A and R, R into B and D, A and B merge to C: C opens after R is read', async () => {
    const kept = createSegments();
    const topology = await createTopology(kept.effects);
    const all = async (): Promise<void> => {
      while (!topology.isQuiet()) await topology.step();
    };
    await topology.write(5);
    await topology.split(0, 30);
    await all();
    await topology.write(30_000);
    await topology.split(30_000, 30);
    await all();
    await topology.merge(0);
    await all();
    await topology.write(5);
    const [, a, r, , d, c] = kept.segments;
    const reader = createReader(kept);
    await reader.step(0, 10);
    await reader.step(0, 0);
    // A is empty and sealed: passed over. R has a message, so C, which takes a part of R's range, must wait.
    expect(a).toMatchObject({ state: 'sealed', tail: 0 });
    expect(
      reader
        .positions()
        .filter((position) => !position.finished)
        .map((position) => position.segment),
    ).toEqual([r?.segment]);
    await reader.step(0, 10);
    await reader.step(0, 0);
    expect(new Set(reader.positions().map((position) => position.segment))).toEqual(new Set([c?.segment, d?.segment]));
  });

  test('a segment that is listed and not made yet stands in the way of its descendants', () => {
    const [older, newer] = [
      { segment: segmentId(1), lo: 0, hi: PARTITIONS - 1 },
      { segment: segmentId(2), lo: 0, hi: 9 },
    ];
    const opening = openNext(BEGINNING, [older, newer], (segment) =>
      segment === older.segment ? 'absent' : { sealed: false, start: 0, tail: 1 },
    );
    expect(opening).toEqual({ positions: BEGINNING, opened: [], unknown: [] });
  });
});

const newest = (kept: Segments): readonly Position[] => {
  const facts = new Map<SegmentId, { pending: boolean; sealed: boolean; tail: number }>();
  for (;;) {
    const found = newestPositions(kept.segments, (segment) => facts.get(segment));
    if (found.unknown.length === 0) return found.positions;
    for (const segment of found.unknown) {
      const { state, tail } = kept.of(segment);
      facts.set(segment, { pending: state === 'pending', sealed: state === 'sealed', tail });
    }
  }
};

describe('newestPositions', () => {
  test('C2 a reader from there gets exactly what is written afterwards, whatever changes are under way', async () => {
    await fc.assert(
      fc.asyncProperty(commands, commands, async (before, after) => {
        const kept = createSegments();
        const topology = await createTopology(kept.effects);
        for (const command of before) await run(topology, command, async () => undefined);
        const old = kept.written.length;
        const first = newest(kept);
        expect(tiles(first)).toBe(true);
        const reader = createReader(kept, first);
        for (const command of after) await run(topology, command, reader.step);
        await finish(kept, topology, reader);
        const since = kept.written.slice(old);
        const sinceNames = new Set(since.map(({ segment, offset }) => `${segment}:${offset}`));
        expect(reader.read.filter(({ segment, offset }) => !sinceNames.has(`${segment}:${offset}`))).toEqual([]);
        expect(faultsOf(reader.read, since, (segment) => kept.of(segment).predecessors)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

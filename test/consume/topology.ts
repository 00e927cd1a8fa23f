import fc from 'fast-check';
import type { SegmentId } from '../../src/model/ids.ts';
import { PARTITIONS } from '../../src/model/limits.ts';
import type { Range, SegmentRange } from '../../src/model/topic.ts';

/** What a topology does to segments; a pure one keeps arrays, another one writes a log. */
export type Effects = {
  make(range: Range, predecessors: readonly SegmentId[]): Promise<SegmentId>;
  seal(segment: SegmentId, successors: readonly SegmentRange[]): Promise<void>;
  open(segment: SegmentId): Promise<void>;
  /** Publishes one message of this partition to this segment. */
  write(segment: SegmentId, partition: number): Promise<void>;
};

type Change = { readonly parents: SegmentRange[]; readonly children: readonly SegmentRange[]; readonly opening: SegmentRange[] };

export type Command =
  | { readonly type: 'write'; readonly partition: number }
  | { readonly type: 'split'; readonly partition: number; readonly share: number }
  | { readonly type: 'merge'; readonly partition: number }
  | { readonly type: 'step' }
  | { readonly type: 'read'; readonly turn: number; readonly count: number };

const partition = fc.integer({ min: 0, max: PARTITIONS - 1 });

/** Writes, splits, merges, single steps of the changes under way, and what a reader does meanwhile. */
export const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('write' as const), partition }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('split' as const), partition, share: fc.integer({ min: 1, max: 99 }) }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('merge' as const), partition }) },
    { weight: 6, arbitrary: fc.record({ type: fc.constant('step' as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant('read' as const), turn: fc.nat({ max: 7 }), count: fc.integer({ min: 1, max: 4 }) }),
    },
  ),
  { minLength: 20, maxLength: 120, size: 'max' },
);

/** Segments of one topic that split and merge by the steps of a topology change, several changes at once. */
export async function createTopology(effects: Effects, roots: readonly Range[] = [{ lo: 0, hi: PARTITIONS - 1 }]) {
  /** Open, or being replaced; in order of their ranges. */
  let current: SegmentRange[] = [];
  let changes: Change[] = [];
  const sealed = new Set<SegmentId>();
  for (const range of roots) {
    const segment = await effects.make(range, []);
    await effects.open(segment);
    current.push({ ...range, segment });
  }

  const isBusy = (range: SegmentRange): boolean =>
    changes.some(({ parents, children }) => [...parents, ...children].some(({ segment }) => segment === range.segment));
  const at = (where: number): number => current.findIndex(({ lo, hi }) => lo <= where && where <= hi);

  async function begin(parents: readonly SegmentRange[], ranges: readonly Range[]): Promise<void> {
    const children: SegmentRange[] = [];
    for (const range of ranges) {
      const segment = await effects.make(
        range,
        parents.map((parent) => parent.segment),
      );
      children.push({ ...range, segment });
    }
    changes.push({ parents: [...parents], children, opening: [...children] });
  }

  async function step(): Promise<void> {
    const change = changes[0];
    if (change === undefined) return;
    const parent = change.parents.find(({ segment }) => !sealed.has(segment));
    if (parent !== undefined) {
      await effects.seal(parent.segment, change.children);
      sealed.add(parent.segment);
      return;
    }
    const child = change.opening.shift();
    if (child !== undefined) {
      await effects.open(child.segment);
      current = [...current.filter((range) => range.hi < child.lo || range.lo > child.hi || !sealed.has(range.segment)), child];
      current.sort((a, b) => a.lo - b.lo);
    }
    if (change.opening.length === 0) changes = changes.slice(1);
    else changes = [...changes.slice(1), change];
  }

  return {
    step,
    isQuiet: (): boolean => changes.length === 0,
    async write(where: number): Promise<void> {
      const range = current[at(where)];
      if (range !== undefined && !sealed.has(range.segment)) await effects.write(range.segment, where);
    },
    async split(where: number, share: number): Promise<void> {
      const range = current[at(where)];
      if (range === undefined || sealed.has(range.segment) || isBusy(range) || range.hi === range.lo) return;
      const middle = range.lo + Math.floor(((range.hi - range.lo) * share) / 100);
      if (middle < range.hi)
        await begin(
          [range],
          [
            { lo: range.lo, hi: middle },
            { lo: middle + 1, hi: range.hi },
          ],
        );
    },
    async merge(where: number): Promise<void> {
      const index = at(where);
      const [left, right] = [current[index], current[index + 1]];
      if (left === undefined || right === undefined || left.hi + 1 !== right.lo) return;
      if ([left, right].some((range) => sealed.has(range.segment) || isBusy(range))) return;
      await begin([left, right], [{ lo: left.lo, hi: right.hi }]);
    },
  };
}

export type Topology = Awaited<ReturnType<typeof createTopology>>;

/** Runs one command; reads are the caller's. */
export async function run(topology: Topology, command: Command, read: (turn: number, count: number) => Promise<void>): Promise<void> {
  if (command.type === 'write') await topology.write(command.partition);
  else if (command.type === 'split') await topology.split(command.partition, command.share);
  else if (command.type === 'merge') await topology.merge(command.partition);
  else if (command.type === 'step') await topology.step();
  else await read(command.turn, command.count);
}

export type Written = { readonly segment: SegmentId; readonly offset: number; readonly partition: number };

/**
 * What is wrong with an order of reading: a message read twice or never, or before one of its partition's that was written
 * earlier, or before one of a predecessor of its segment.
 */
export function faultsOf(
  read: readonly Written[],
  written: readonly Written[],
  predecessorsOf: (segment: SegmentId) => readonly SegmentId[],
): string[] {
  const faults: string[] = [];
  const nameOf = (one: Written): string => `${one.segment}:${one.offset}`;
  const order = new Map<string, number>();
  for (const [index, one] of read.entries()) {
    if (order.has(nameOf(one))) faults.push(`${nameOf(one)} twice`);
    order.set(nameOf(one), index);
  }
  const lastOf = new Map<SegmentId, number>();
  for (const one of written) {
    const index = order.get(nameOf(one));
    if (index === undefined) faults.push(`${nameOf(one)} never`);
    lastOf.set(one.segment, Math.max(lastOf.get(one.segment) ?? -1, index ?? -1));
  }
  const latest = new Map<number, number>();
  for (const one of written) {
    const index = order.get(nameOf(one)) ?? -1;
    if (index < (latest.get(one.partition) ?? -1)) faults.push(`${nameOf(one)} before an earlier one of its partition`);
    latest.set(one.partition, index);
    for (const predecessor of predecessorsOf(one.segment)) {
      if (index < (lastOf.get(predecessor) ?? -1)) faults.push(`${nameOf(one)} before the end of ${predecessor}`);
    }
  }
  return faults;
}

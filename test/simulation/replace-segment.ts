import { createHeads } from '../../src/state/heads.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Topic, TopologyChange } from '../../src/model/topic.ts';
import { applyChanges, intend, readTopic } from '../../src/topology/apply-change.ts';
import { carryOn } from '../../src/topology/carry-on.ts';
import type { TestWorld } from './test-broker.ts';

/** What a change needs of a world, real or simulated. */
export type ChangeWorld = Pick<TestWorld, 'table' | 'random' | 'signal' | 'run'> & { readonly clock: Clock };

/**
 * Seals neighbouring segments and opens `children` in their place, by the steps of a topology change: what a split or a merge
 * does. Answers the topic as it is then.
 */
export async function replaceSegments(
  world: ChangeWorld,
  topic: Topic,
  { parents, children }: { readonly parents: readonly SegmentId[]; readonly children: number },
): Promise<Topic> {
  const deps = { table: world.table, heads: createHeads(world.table), clock: world.clock, random: world.random.fork('leader') };
  const current = await carryOn(deps, topic.id, world.signal);
  const ranges = current.open.filter((open) => parents.includes(open.segment));
  if (ranges.length !== parents.length) throw new Error(`not all of ${parents.join()} are open`);
  const lo = ranges[0]?.lo ?? 0;
  const width = (ranges.at(-1)?.hi ?? 0) - lo + 1;
  const change: TopologyChange = {
    id: `c${deps.random.base36(16)}`,
    kind: kindOf(parents.length, children),
    parents,
    children: Array.from({ length: children }, (_, n) => ({
      segment: segmentId(current.nextSegment + n),
      lo: lo + Math.floor((n * width) / children),
      hi: lo + Math.floor(((n + 1) * width) / children) - 1,
    })),
  };
  const intended = await intend(deps, current, [change], world.signal);
  if (intended === undefined) throw new Error('the topic changed meanwhile');
  await world.run(applyChanges(deps, intended, [change], world.signal));
  return readTopic(deps, topic.id, world.signal);
}

/** What the product calls a change of so many segments into so many; the steps are the same. */
export function kindOf(parents: number, children: number): TopologyChange['kind'] {
  if (children > 1) return 'split';
  return parents > 1 ? 'merge' : 'failover';
}

/** As {@link replaceSegments}, of one segment. */
export function replaceSegment(
  world: ChangeWorld,
  topic: Topic,
  { segment, children }: { readonly segment: SegmentId; readonly children: number },
): Promise<Topic> {
  return replaceSegments(world, topic, { parents: [segment], children });
}

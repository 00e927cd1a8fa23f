import { createHeads } from '../../src/state/heads.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';
import type { Topic, TopologyChange } from '../../src/model/topic.ts';
import { applyChange, intend, readTopic } from '../../src/topology/apply-change.ts';
import { carryOn } from '../../src/topology/carry-on.ts';
import type { TestWorld } from './test-broker.ts';

/**
 * Seals a segment and opens `children` in its place, by the steps of a topology change: what a split does. Answers the topic
 * as it is then.
 */
export async function replaceSegment(
  world: TestWorld,
  topic: Topic,
  { segment, children }: { readonly segment: SegmentId; readonly children: number },
): Promise<Topic> {
  const deps = { table: world.table, heads: createHeads(world.table), clock: world.clock, random: world.random.fork('leader') };
  const current = await carryOn(deps, topic.id, world.signal);
  const range = current.open.find((open) => open.segment === segment);
  if (range === undefined) throw new Error(`segment ${segment} is not open`);
  const width = range.hi - range.lo + 1;
  const change: TopologyChange = {
    id: `c${deps.random.base36(16)}`,
    // Kinds of changes that have parents and children come with splits; the steps are the same.
    kind: 'create',
    parents: [segment],
    children: Array.from({ length: children }, (_, n) => ({
      segment: segmentId(current.nextSegment + n),
      lo: range.lo + Math.floor((n * width) / children),
      hi: range.lo + Math.floor(((n + 1) * width) / children) - 1,
    })),
  };
  const intended = await intend(deps, current, change, world.signal);
  if (intended === undefined) throw new Error('the topic changed meanwhile');
  await world.run(applyChange(deps, intended, change, world.signal));
  return readTopic(deps, topic.id, world.signal);
}

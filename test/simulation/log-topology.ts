import type { Control } from '../../src/control/control.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId, type SegmentId } from '../../src/model/ids.ts';
import type { SegmentRange, Topic, TopologyChange } from '../../src/model/topic.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import { carryOn } from '../../src/topology/carry-on.ts';
import { kindOf } from './replace-segment.ts';
import { ask, type Client, rest } from './log-writers.ts';

const PAUSE_MS_MAX = 4_000;
const SEGMENTS_MAX = 6;

/**
 * Splits and merges segments now and then, by whatever broker, or by its leader where it has one; those that die on the way leave it
 * to others.
 */
export async function topologyChanger(client: Client): Promise<number> {
  const { run, random } = client;
  let changes = 0;
  while (!run.isOver()) {
    await rest(client, PAUSE_MS_MAX);
    try {
      const changed = await ask(client, async ({ broker }, signal) => {
        const { id } = await broker.topics.resolve(run.topicName, { fresh: true }, signal);
        const topic = await carryOn(broker.deps, id, signal);
        const change = chooseChange(client, topic);
        if (broker.member !== undefined && change !== undefined && random.chance(0.7)) {
          await askLeader(broker.member.control, topic, change, signal);
          return true;
        }
        const intended = change === undefined ? undefined : await intend(broker.deps, topic, [change], signal);
        if (change === undefined || intended === undefined) return false;
        await applyChanges(broker.deps, intended, [change], signal);
        return true;
      });
      if (changed === true) changes += 1;
    } catch (error) {
      const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
      if (!isTimeout && !(error instanceof KelpError && ['throttled', 'unavailable', 'indefinite', 'conflict'].includes(error.kind)))
        throw error;
    }
  }
  return changes;
}

async function askLeader(control: Control, topic: Topic, { parents, children }: TopologyChange, signal: AbortSignal): Promise<void> {
  const [first, second] = parents as [SegmentId, SegmentId?];
  if (second === undefined) await control.split(topic, first, children[1]?.lo ?? 0, signal);
  else await control.merge(topic, [first, second], signal);
}

function chooseChange({ random }: Client, topic: Topic): TopologyChange | undefined {
  const index = random.integer(topic.open.length);
  const [first, second] = [topic.open[index], topic.open[index + 1]];
  if (first === undefined) return undefined;
  const isMerge = second !== undefined && (topic.open.length >= SEGMENTS_MAX || random.chance(0.4));
  const parents = isMerge ? [first, second] : [first];
  const id = `c${random.base36(16)}`;
  const children = childrenOf(topic, parents, isMerge ? 1 : 2);
  return { id, kind: kindOf(parents.length, children.length), parents: parents.map(({ segment }) => segment), children };
}

function childrenOf(topic: Topic, parents: readonly SegmentRange[], count: number): SegmentRange[] {
  const lo = parents[0]?.lo ?? 0;
  const hi = parents.at(-1)?.hi ?? 0;
  const cut = (n: number): number => lo + Math.floor((n * (hi - lo + 1)) / count);
  return Array.from({ length: count }, (_, n) => ({ segment: segmentId(topic.nextSegment + n), lo: cut(n), hi: cut(n + 1) - 1 }));
}

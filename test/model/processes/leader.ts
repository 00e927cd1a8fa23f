import { topicKey } from '../../../src/format/item-key.ts';
import { decodeTopic } from '../../../src/format/topic-item.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { segmentId, type SegmentId } from '../../../src/model/ids.ts';
import type { SegmentRange, Topic, TopologyChange } from '../../../src/model/topic.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createTopic } from '../../../src/topics/create-topic.ts';
import { deleteTopic } from '../../../src/topics/delete-topic.ts';
import { applyChanges, intend, type TopologyDeps } from '../../../src/topology/apply-change.ts';
import { carryOn } from '../../../src/topology/carry-on.ts';
import type { Process, ProcessState } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, TOPIC } from './broker.ts';

// Those who change topics. Each may stop between any two steps, and none is the only one.

/** Each of these may be put out of its way by another one: then it ends, and whoever comes next goes on. */
export function changing(
  name: string,
  work: (deps: TopologyDeps, table: MetadataTable) => Promise<ProcessState>,
  mayBegin?: Process['mayBegin'],
): Process {
  return {
    name,
    start: {},
    phases: [
      async (table) => {
        try {
          return await work(brokerDeps(table, { instance: name, nowMs: 0 }), table);
        } catch (error) {
          if (error instanceof KelpError) return { ended: error.code };
          throw error;
        }
      },
    ],
    ...(mayBegin === undefined ? {} : { mayBegin }),
  };
}

/** Replaces open segments by so many children over all their ranges, whose ids come from the topic's counter. */
export function leader(name: string, parents: readonly SegmentId[], children = 1): Process {
  return changing(name, async (deps) => {
    const topic = await readTopic(deps);
    const ranges = topic.open.filter((range) => parents.includes(range.segment));
    if (ranges.length < parents.length) return { ended: 'too late' };
    const change = changeOf(name, topic, ranges, children);
    const intended = await intend(deps, topic, [change], NEVER_ABORTED);
    if (intended === undefined) return { ended: 'overtaken' };
    await applyChanges(deps, intended, [change], NEVER_ABORTED);
    return { ended: 'published' };
  });
}

function changeOf(name: string, topic: Topic, ranges: readonly SegmentRange[], parts: number): TopologyChange {
  const first = Math.min(...ranges.map(({ lo }) => lo));
  const width = Math.max(...ranges.map(({ hi }) => hi)) + 1 - first;
  const children = Array.from({ length: parts }, (_, n) => ({
    segment: segmentId(topic.nextSegment + n),
    lo: first + (n * width) / parts,
    hi: first + ((n + 1) * width) / parts - 1,
  }));
  const kind = ranges.length > 1 ? 'merge' : 'failover';
  return { id: name, kind: parts > 1 ? 'split' : kind, parents: ranges.map(({ segment }) => segment), children };
}

async function readTopic(deps: TopologyDeps): Promise<Topic> {
  const item = await deps.table.get(topicKey(TOPIC), NEVER_ABORTED);
  if (item === undefined) throw new Error('a scope has no topic');
  return decodeTopic(item);
}

/** Whoever meets the topic, and finishes what others left behind. */
export const carrier = (name: string): Process =>
  changing(name, async (deps) => {
    const topic = await carryOn(deps, TOPIC, NEVER_ABORTED);
    return { ended: topic.state };
  });

export const creator = (name: string, topic: string): Process =>
  changing(name, async (deps) => {
    const { created, topic: made } = await createTopic(deps, topic, { partitionKey: 'key', segments: 1, replicas: 2 }, NEVER_ABORTED);
    return { ended: created ? 'created' : 'found', topic: made.id };
  });

export const deleter = (name: string, topic: string, mayBegin?: Process['mayBegin']): Process =>
  changing(
    name,
    async (deps) => {
      const store = { put: never, getRange: never, head: never, list: never, delete: never };
      const telemetry = { count: () => {}, adjust: () => {}, record: () => {}, log: () => {} };
      await deleteTopic({ ...deps, store, telemetry, background: { run: () => {} } }, topic, NEVER_ABORTED);
      return { ended: 'deleted' };
    },
    mayBegin,
  );

const never = (): Promise<never> => Promise.reject(new Error('clean-up is not in the model yet'));

import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { headKey } from '../../../src/format/item-key.ts';
import { LOAD_BUCKETS } from '../../../src/model/limits.ts';
import type { ScalingSettings } from '../../../src/model/scaling.ts';
import type { Range, SegmentRange, Topic } from '../../../src/model/topic.ts';
import type { MetadataTable, Update } from '../../../src/ports/metadata-table.ts';
import { type TopologyWatch, watchTopology } from '../../topology/topology-watch.ts';
import { createFailoverWorld, type FailoverWorld } from '../failover/world.ts';
import { bucketsOfDensity, SETTINGS } from './scaled-topic.ts';

/** Messages a second that a range of partitions gets. */
export type Density = (range: Range) => number;

/** Brokers and leaders whose topics are flooded without anybody publishing: the load is put into heads. */
export type FloodWorld = FailoverWorld & {
  readonly watch: TopologyWatch;
  /** A topic whose segments take 1,000 messages a second each, unless it is told otherwise. */
  flooded(scaling?: Partial<ScalingSettings>, options?: { readonly name?: string; readonly segments?: number }): Promise<Topic>;
  /** So many seconds of it, one after the other; `commits`: a second, of each segment. */
  flow(topic: Topic, density: Density, options: { readonly seconds: number; readonly commits?: number }): Promise<void>;
  /** What is open now. */
  open(topic: Topic): Promise<readonly SegmentRange[]>;
};

const PARTITIONS = 65_536;
const BYTES_EACH = 100;

/** The same for each partition. */
export const even =
  (perSecond: number): Density =>
  ({ lo, hi }) =>
    (perSecond * (hi - lo + 1)) / PARTITIONS;

/** All of it at one partition. */
export const at =
  (partition: number, perSecond: number): Density =>
  ({ lo, hi }) =>
    lo <= partition && partition <= hi ? perSecond : 0;

export function createFloodWorld(seed: number | string = 1): FloodWorld {
  const watch = watchTopology(createMemoryTable());
  const world = createFailoverWorld(seed, watch.table);
  const open = async (topic: Topic): Promise<readonly SegmentRange[]> => (await world.read(topic)).open;
  return {
    ...world,
    watch,
    open,
    async flooded(scaling = {}, { name = 't', segments = 1 } = {}) {
      const settings = { partitionKey: 'key' as const, segments, replicas: 2, scaling: { ...SETTINGS, ...scaling } };
      const created = await world.run(world.broker().topics.create(name, settings, world.signal));
      return created.topic;
    },
    async flow(topic, density, { seconds, commits = 5 }) {
      for (let second = 0; second < seconds; second += 1) {
        for (const range of await open(topic)) await pour(world.table, topic, { range, density, commits });
        await world.clock.advance(1_000);
      }
    },
  };
}

/** One second of messages, as commits would count them; none to a segment that is sealed by now. */
async function pour(
  table: MetadataTable,
  topic: Topic,
  { range, density, commits }: { readonly range: SegmentRange; readonly density: Density; readonly commits: number },
): Promise<void> {
  const buckets = bucketsOfDensity(range, ({ lo, hi }) => (hi < lo ? 0 : density({ lo, hi }))).map(Math.round);
  const messages = buckets.reduce((sum, count) => sum + count, 0);
  if (messages === 0) return;
  const add = (path: string | readonly (string | number)[], value: number) => ({ op: 'add' as const, path: [path].flat(), value });
  const update: Update = {
    condition: [{ op: '=', path: ['state'], value: 'open' }],
    changes: [
      add('messages', messages),
      add('bytes', messages * BYTES_EACH),
      add('commits', commits),
      add('tail', messages),
      ...Array.from({ length: LOAD_BUCKETS }, (_, bucket) => add(['hist', bucket], buckets[bucket] ?? 0)),
    ],
  };
  await table.update(headKey(topic.id, range.segment), update, new AbortController().signal);
}

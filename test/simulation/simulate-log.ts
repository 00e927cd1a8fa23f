import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import type { ScalingSettings } from '../../src/model/scaling.ts';
import type { History } from '../checkers/history.ts';
import { watchTopology } from '../topology/topology-watch.ts';
import { createFleet, type FleetCounts, type FleetOptions } from './fleet.ts';
import { lateReader, segmentReader, topicReader } from './log-readers.ts';
import { topologyChanger } from './log-topology.ts';
import { uploadWriter } from './log-uploads.ts';
import { type Client, keyedWriter, lastWriter, matchingWriter, plainWriter, producerWriter, type Run } from './log-writers.ts';
import { readTopicLog, type SegmentLog } from './read-log.ts';
import { createRecorder } from './recorder.ts';
import { createTestWorld } from './test-broker.ts';

export type SimulationOptions = FleetOptions & {
  /** How long faults go on; then comes the calm, in which everything must come to its end. */
  readonly faultyMs: number;
  readonly segments: number;
  readonly plainWriters: number;
  readonly producers: number;
  readonly keyedWriters: number;
  readonly matchingWriters: number;
  readonly uploadWriters: number;
  readonly readers: number;
  /** Who splits and merges segments. */
  readonly changers: number;
  /** What the topic's segments are to carry. */
  readonly scaling?: ScalingSettings;
};

export type Simulated = {
  readonly history: History;
  readonly surprises: readonly string[];
  readonly open: readonly { readonly lo: number; readonly hi: number }[];
  /** What is wrong with any version of the topic that was ever written. */
  readonly topology: readonly string[];
  readonly changes: number;
  readonly counts: FleetCounts;
};

const AUDITOR = 'audit of bucket and table';
/** Longer than whatever is late. */
const LATE_MS_MAX = 10_000;
const TOPIC = 't';

/** Brokers, writers and readers on shared stores, with every kind of fault. The same seed gives the same history. */
export async function simulateLog(seed: number, options: SimulationOptions): Promise<Simulated> {
  const watch = watchTopology(createMemoryTable());
  const world = createTestWorld(`log ${seed}`, watch.table);
  const { clock, random } = world;
  const topic = await world.topic(options.segments, TOPIC, options.scaling);
  const fleet = createFleet(world, random.fork('fleet'), options);
  const recorder = createRecorder();
  const phase = { isOver: false, isQuiet: false };
  const run: Run = { world, fleet, recorder, topicName: TOPIC, isOver: () => phase.isOver, isQuiet: () => phase.isQuiet };
  const clients = <T>(name: string, count: number, live: (client: Client) => Promise<T>): Promise<T>[] =>
    Array.from({ length: count }, (_, n) => {
      const life = live({ name: `${name}${n}`, run, random: random.fork(`${name} ${n}`) });
      // Waited for below, when all is over.
      life.catch(() => undefined);
      return life;
    });

  const writers = [
    ...clients('plain', options.plainWriters, plainWriter),
    ...clients('producer', options.producers, producerWriter),
    ...clients('keyed', options.keyedWriters, keyedWriter),
    ...clients('match', options.matchingWriters, matchingWriter),
    ...clients('upload', options.uploadWriters, uploadWriter),
  ];
  const readers = [
    ...clients('segments', options.readers, segmentReader),
    ...clients('topic', options.readers, topicReader),
    ...clients('late', options.readers, lateReader),
  ];
  const changers = clients('changer', options.changers, topologyChanger);

  const script = async (): Promise<number> => {
    await clock.sleep(options.faultyMs, world.signal);
    fleet.calm();
    phase.isOver = true;
    await Promise.all(writers);
    const [changes = 0] = await Promise.all(changers);
    // A change that somebody left half done is carried on by whoever resolves the name; late writes find their end.
    await clock.sleep(LATE_MS_MAX, world.signal);
    await Promise.all(clients('last', 1, lastWriter));
    phase.isQuiet = true;
    await Promise.all(readers);
    return changes;
  };
  const changes = await clock.run(script());
  fleet.killAll();

  const resolved = await clock.run(world.broker().topics.resolve(TOPIC, { fresh: true }, world.signal));
  const logs = await readTopicLog(world, topic.id);
  recorder.see(AUDITOR, logs.flatMap(seenOf));
  recorder.complete(AUDITOR, new Map(logs.map(({ head }) => [head.segment, head.tail])));
  const { surprises } = recorder;
  return {
    history: { ...recorder.history(), segments: logs.map(({ head }) => head) },
    surprises,
    open: resolved.open,
    topology: watch.problems(),
    changes,
    counts: fleet.counts(),
  };
}

/** Ids of children are above those of their parents, so that segments in order of their ids are in the order of lineage. */
const seenOf = ({ messages }: SegmentLog) =>
  messages.map(({ segment, offset, key, value }) => ({ segment, offset, key, id: value, digest: value }));

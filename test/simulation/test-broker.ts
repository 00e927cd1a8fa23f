import { createHash, createHmac } from 'node:crypto';
import { createMemoryPresigner, type MemoryPresigner } from '../../src/adapters/memory/memory-presigner.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { wrapStore, wrapTable } from '../../src/adapters/wrap/stores.ts';
import { type Broker, type BrokerPorts, createBroker } from '../../src/broker/create-broker.ts';
import { createConsumer } from '../../src/consume/create-consumer.ts';
import type { Consumer } from '../../src/consume/page.ts';
import { IDLE } from '../../src/model/broker.ts';
import type { ScalingSettings } from '../../src/model/scaling.ts';
import type { Authenticator } from '../../src/ports/authenticator.ts';
import type { Background } from '../../src/ports/background.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Compression } from '../../src/ports/compression.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { Presigner } from '../../src/ports/presigner.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Telemetry } from '../../src/ports/telemetry.ts';
import { type CommitIds, createCommitIds } from '../../src/protocol/commit-id.ts';
import { createPublisher } from '../../src/publish/publish.ts';
import type { Publisher } from '../../src/publish/publisher.ts';
import type { Routes } from '../../src/publish/routes.ts';
import { createHeads, type Heads } from '../../src/state/heads.ts';
import { createPressureMeter, type PressureMeter } from '../../src/state/pressure-meter.ts';
import { createTopics } from '../../src/topics/create-topics.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { Topics } from '../../src/topics/topics.ts';
import { createSeededRandom, type SeededRandom } from './seeded-random.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** What was counted and logged, and what work was left to the background. */
export type Notes = {
  readonly counts: Map<string, number>;
  readonly logs: { readonly level: string; readonly message: string }[];
  /** Resolves when no background task runs any more. */
  idle(): Promise<void>;
};

export type BrokerDeps = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly presigner: Presigner;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly background: Background;
  readonly compression: Compression;
  readonly heads: Heads;
  readonly commitIds: CommitIds;
  readonly pressure: PressureMeter;
  readonly sha256: (text: string) => string;
};

/** A broker without HTTP, with its insides to look at. */
export type TestBroker = {
  readonly topics: Topics;
  readonly publisher: Publisher;
  readonly consumer: Consumer;
  readonly heads: Heads;
  readonly notes: Notes;
  readonly deps: BrokerDeps;
  /** Of a member: `heads` are not its own. */
  readonly member?: Broker;
};

export type BrokerOptions = Pick<BrokerDeps, 'table' | 'store' | 'clock' | 'random'> & {
  /** Absent: nothing that is uploaded comes to the store. */
  readonly presigner?: Presigner;
  readonly queueBytesMax?: number;
  readonly pressure?: PressureMeter;
  /** Where there are other brokers. */
  readonly routes?: Routes;
  /** Where it is one of several that know each other: all of it is put together as the product does. */
  readonly member?: Required<Pick<BrokerPorts, 'self' | 'peers'>> & Pick<BrokerPorts, 'rebalanceMs'>;
  /** As a real broker has its stores: attempts bounded, reads asked again. Without, a test sees each call once. */
  readonly wrapped?: boolean;
};

// Compression and signatures would go to other threads, whose order no seed decides.
const compression = createCompression({ codec: 'none' });
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const authenticator: Authenticator = {
  tag: async (bytes) => createHmac('sha256', 'test').update(bytes).digest(),
  verify: async (bytes, tag) => createHmac('sha256', 'test').update(bytes).digest().equals(tag),
};

export function createTestBroker(options: BrokerOptions): TestBroker {
  const { clock, random, queueBytesMax, routes, member, wrapped = false } = options;
  const presigner = options.presigner ?? createMemoryPresigner({ store: createMemoryStore(), clock });
  const { telemetry, background, notes } = createNotes(clock);
  const table = wrapped ? wrapTable(options.table, { clock, random, telemetry }) : options.table;
  const store = wrapped ? wrapStore(options.store, { clock, random, telemetry }) : options.store;
  const heads = createHeads(table);
  const commitIds = createCommitIds({ clock, random });
  const pressure = options.pressure ?? createPressureMeter({ clock, onPressed: () => undefined });
  const seen = { heads, commitIds, pressure };
  const deps: BrokerDeps = { table, store, presigner, clock, random, telemetry, background, compression, ...seen, sha256 };
  if (member !== undefined) {
    const broker = createBroker({ ...deps, ...member, authenticator, meter: { sample: () => IDLE } });
    return { ...broker, heads, notes, deps, member: broker };
  }
  return {
    topics: createTopics(deps),
    publisher: createPublisher({
      ...deps,
      ...(queueBytesMax === undefined ? {} : { queueBytesMax }),
      ...(routes === undefined ? {} : { routes }),
    }),
    consumer: createConsumer({ ...deps, authenticator }),
    heads,
    notes,
    deps,
  };
}

function createNotes(clock: Clock): { readonly telemetry: Telemetry; readonly background: Background; readonly notes: Notes } {
  const counts = new Map<string, number>();
  const logs: { level: string; message: string }[] = [];
  const running = new Set<Promise<void>>();
  const telemetry: Telemetry = {
    count: (name, value) => void counts.set(name, (counts.get(name) ?? 0) + value),
    adjust: () => undefined,
    record: () => undefined,
    log: (level, message) => void logs.push({ level, message }),
  };
  const background: Background = {
    run(name, msMax, task) {
      const failed = (error: unknown): void => telemetry.log('warn', `${name}: ${String(error)}`);
      const work = task(clock.deadline(msMax)).catch(failed);
      running.add(work);
      void work.then(() => running.delete(work));
    },
  };
  const idle = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(running);
  };
  return { telemetry, background, notes: { counts, logs, idle } };
}

/** Stores in memory under a virtual clock, and brokers on them. */
export type TestWorld = {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  /** Where clients send what was signed for them. */
  readonly presigner: MemoryPresigner;
  /** Never aborts. */
  readonly signal: AbortSignal;
  broker(options?: Partial<BrokerOptions>): TestBroker;
  /** A topic that is there from the beginning, made by a broker that is gone. */
  topic(segments?: number, name?: string, scaling?: ScalingSettings): Promise<Topic>;
  /** Passes time until the work is settled. */
  run<T>(work: Promise<T>): Promise<T>;
};

export function createTestWorld(
  seed: number | string = 1,
  table: MetadataTable = createMemoryTable(),
  storeOf: (store: ObjectStore) => ObjectStore = (store) => store,
): TestWorld {
  const clock = createVirtualClock();
  const random = createSeededRandom(seed);
  const memory = createMemoryStore();
  const store = storeOf(memory);
  const presigner = createMemoryPresigner({ store: memory, clock });
  let brokers = 0;
  const world: TestWorld = {
    clock,
    random,
    table,
    store,
    presigner,
    signal: new AbortController().signal,
    broker(options = {}) {
      brokers += 1;
      return createTestBroker({ table, store, presigner, clock, random: random.fork(`broker ${brokers}`), ...options });
    },
    async topic(segments = 1, name = 't', scaling) {
      const settings = { partitionKey: 'key', segments, replicas: 2, ...(scaling === undefined ? {} : { scaling }) } as const;
      const created = world.broker().topics.create(name, settings, world.signal);
      return (await clock.run(created)).topic;
    },
    run: clock.run,
  };
  return world;
}

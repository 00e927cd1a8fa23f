import { encodeServed } from '../../../src/format/served-item.ts';
import { brokerKey, headKey, servedKey, topicKey } from '../../../src/format/item-key.ts';
import { decodeBroker } from '../../../src/format/broker-item.ts';
import { decodeTopic } from '../../../src/format/topic-item.ts';
import { createRecordingTelemetry, type RecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { type AssignerDeps, createAssigner } from '../../../src/control/assignment/assign.ts';
import { createSegmentCounts } from '../../../src/control/assignment/segment-counts.ts';
import { createBrokerDirectory } from '../../../src/control/brokers/directory.ts';
import { createDuties, type Duties, type DutiesDeps } from '../../../src/control/failover/duties.ts';
import type { Term } from '../../../src/control/leader/leadership.ts';
import { createProcessMemory } from '../../../src/control/scaling/scaling-memory.ts';
import type { BrokerRecord } from '../../../src/model/broker.ts';
import type { BrokerId, SegmentId } from '../../../src/model/ids.ts';
import { HEARTBEAT_MS } from '../../../src/model/limits.ts';
import { TENANT_DEFAULT, type Topic } from '../../../src/model/topic.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { Peers } from '../../../src/ports/peers.ts';
import type { Random } from '../../../src/ports/random.ts';
import { assignUpdate } from '../../../src/protocol/segment-life.ts';
import { createHeads } from '../../../src/state/heads.ts';
import { createTestWorld, type TestWorld } from '../../simulation/test-broker.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';
import { createFakePeers, type FakePeers } from './fake-peers.ts';

/** A leader's duties on stores of a test, and brokers that it can ask. */
export type LeaderOptions = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly random: Random;
  readonly peers?: Peers;
  readonly self: BrokerId;
  /** 0 unless it is told: it splits and merges nothing by itself. */
  readonly rebalanceMs?: number;
};
export type TestLeader = {
  readonly duties: Duties;
  readonly deps: DutiesDeps;
  readonly telemetry: RecordingTelemetry;
  /** Leads until it is stopped. */
  lead(options?: { readonly predecessor?: BrokerId }): Leading;
};
export type Leading = { readonly term: Term; readonly over: Promise<void>; stop(): Promise<void> };

export function createTestLeader({ table, clock, random, peers, self, rebalanceMs = 0 }: LeaderOptions): TestLeader {
  const telemetry = createRecordingTelemetry();
  const heads = createHeads(table);
  const directory = createBrokerDirectory({ table, clock });
  const counts = createSegmentCounts({ table });
  const isUsable: AssignerDeps['isUsable'] = (...asked) => duties.isUsable(...asked);
  const assigner = createAssigner({ table, heads, clock, random, directory, counts, isUsable });
  const address = { id: self, url: `http://${self}:80` };
  const withPeers = peers === undefined ? {} : { peers };
  const scaling = { memory: createProcessMemory(clock), rebalanceMs };
  const deps: DutiesDeps = { table, heads, clock, random, telemetry, directory, counts, assigner, self: address, ...withPeers, ...scaling };
  const duties: Duties = createDuties(deps);
  return {
    duties,
    deps,
    telemetry,
    lead({ predecessor } = {}) {
      const end = new AbortController();
      const term: Term = { epoch: 1, signal: end.signal, ...(predecessor === undefined ? {} : { predecessor }) };
      const over = duties.lead(term);
      return {
        term,
        over,
        stop() {
          end.abort(new Error('its term is over'));
          return over;
        },
      };
    },
  };
}

export type FailoverWorld = TestWorld & {
  readonly peers: FakePeers;
  /** A broker that is registered, answers, and heartbeats until it is killed or stopped. */
  live(id: string, rest?: Partial<BrokerRecord>): Promise<BrokerId>;
  /** Nobody listens any more, and nothing is written. */
  kill(broker: BrokerId): void;
  /** As by SIGSTOP: connections stand, nothing is answered or written. */
  freeze(broker: BrokerId): void;
  /** As by SIGCONT. */
  thaw(broker: BrokerId): void;
  leader(self: BrokerId, options?: Partial<LeaderOptions>): TestLeader;
  /** As the leader does it: the lists first, then the head. */
  assign(topic: Topic, segment: SegmentId, brokers: readonly BrokerId[]): Promise<void>;
  record(broker: BrokerId): Promise<BrokerRecord | undefined>;
  read(topic: Topic): Promise<Topic>;
  /** Passes time until it holds; fails if it doesn't within `msMax`. Answers how long it took. */
  until(holds: () => boolean | Promise<boolean>, msMax?: number): Promise<number>;
};

const UNTIL_MS_MAX = 120_000;
const STEP_MS = 50;

export function createFailoverWorld(seed: number | string = 1, stored?: MetadataTable): FailoverWorld {
  const world = createTestWorld(seed, stored);
  const { table, clock, signal } = world;
  const peers = createFakePeers();
  const frozen = new Set<BrokerId>();
  const dead = new Set<BrokerId>();
  let leaders = 0;
  const record = async (broker: BrokerId): Promise<BrokerRecord | undefined> => {
    const item = await table.get(brokerKey(TENANT_DEFAULT, broker), signal);
    return item === undefined ? undefined : decodeBroker(item);
  };

  async function heartbeat(broker: BrokerId): Promise<void> {
    const alive = [{ op: 'exists' as const, path: ['instance'] }];
    for (;;) {
      await clock.sleep(HEARTBEAT_MS, signal);
      if (dead.has(broker)) return;
      if (frozen.has(broker)) continue;
      const update = { condition: alive, changes: [{ op: 'add' as const, path: ['version'], value: 1 }] };
      await table.update(brokerKey(TENANT_DEFAULT, broker), update, signal);
    }
  }

  return {
    ...world,
    peers,
    record,
    async live(id, rest = {}) {
      await putBroker(table, someBroker(id, rest));
      peers.set(brokerId(id), 'answers');
      if (rest.kind !== 'fleet') void heartbeat(brokerId(id));
      return brokerId(id);
    },
    kill(broker) {
      dead.add(broker);
      peers.set(broker, 'refuses');
    },
    freeze(broker) {
      frozen.add(broker);
      peers.set(broker, 'hangs');
    },
    thaw(broker) {
      frozen.delete(broker);
      peers.set(broker, 'answers');
    },
    leader(self, options = {}) {
      leaders += 1;
      return createTestLeader({ table, clock, peers, self, random: world.random.fork(`leader ${leaders}`), ...options });
    },
    async assign(topic, segment, brokers) {
      for (const broker of brokers) {
        await table.put(servedKey(broker, topic.id, segment), encodeServed({ topic: topic.id, segment }), [], signal);
      }
      await table.update(headKey(topic.id, segment), assignUpdate(brokers), signal);
    },
    async read(topic) {
      return decodeTopic((await table.get(topicKey(topic.id), signal)) ?? {});
    },
    async until(holds, msMax = UNTIL_MS_MAX) {
      const beganMs = clock.monotonicMs();
      while (!(await holds())) {
        const passedMs = clock.monotonicMs() - beganMs;
        if (passedMs >= msMax) throw new Error(`it does not hold after ${passedMs} ms`);
        await clock.advance(STEP_MS);
      }
      return clock.monotonicMs() - beganMs;
    },
  };
}

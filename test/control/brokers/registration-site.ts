import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createRegistration, type Registration, type RegistrationDeps } from '../../../src/control/brokers/registration.ts';
import { decodeBroker } from '../../../src/format/broker-item.ts';
import { brokerKey } from '../../../src/format/item-key.ts';
import { type BrokerRecord, IDLE } from '../../../src/model/broker.ts';
import type { SegmentPressure } from '../../../src/model/segment-pressure.ts';
import { TENANT_DEFAULT } from '../../../src/model/topic.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';
import { brokerId } from '../some-broker.ts';

const { signal } = new AbortController();
const A = brokerId('a');
export const KEY = brokerKey(TENANT_DEFAULT, A);

type Process = {
  readonly registration: Registration;
  readonly counts: Map<string, number>;
  readonly logs: string[];
  readonly written: BrokerRecord[];
  readonly state: { isLeader: boolean; busyPercent: number; pressure: readonly SegmentPressure[]; ended: boolean };
  start(): void;
  stop(): Promise<void>;
};

/** Processes and instances of functions under one id, on one table. */
export function site() {
  const memory = createMemoryTable();
  const clock = createVirtualClock();
  const item = async (): Promise<BrokerRecord | undefined> => {
    const found = await memory.get(KEY, signal);
    return found === undefined ? undefined : decodeBroker(found);
  };
  let lives = 0;
  function process(options: Partial<RegistrationDeps> = {}, table: MetadataTable = memory): Process {
    lives += 1;
    const [counts, logs, written] = [new Map<string, number>(), [] as string[], [] as BrokerRecord[]];
    const state: Process['state'] = { isLeader: false, busyPercent: 0, pressure: [], ended: false };
    const ends = new AbortController();
    const registration = createRegistration({
      table,
      clock,
      random: createSeededRandom(`life ${lives}`),
      telemetry: {
        count: (name, value) => void counts.set(name, (counts.get(name) ?? 0) + value),
        adjust: () => undefined,
        record: () => undefined,
        log: (_, message) => void logs.push(message),
      },
      self: { id: A, url: 'http://a:80' },
      kind: 'process',
      zone: 'z1',
      meter: { sample: () => ({ ...IDLE, busyPercent: state.busyPercent }) },
      pressure: { sample: () => state.pressure },
      isLeader: () => state.isLeader,
      onWritten: (broker) => written.push(broker),
      ...options,
    });
    let running = Promise.resolve();
    return {
      registration,
      counts,
      logs,
      written,
      state,
      start: () => void (running = registration.run(ends.signal).then(() => void (state.ended = true))),
      async stop() {
        ends.abort();
        await clock.run(running);
      },
    };
  }
  return { memory, clock, item, process };
}

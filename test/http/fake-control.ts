import type { BrokerStatus, Control } from '../../src/control/control.ts';
import { IDLE } from '../../src/model/broker.ts';
import { type BrokerId, segmentId, segmentNumber } from '../../src/model/ids.ts';
import { PARTITIONS } from '../../src/model/limits.ts';

/** A broker as the control plane knows it, with all that must not get out. */
export const brokerStatus = (id: string, more: Partial<BrokerStatus> = {}): BrokerStatus => ({
  id: id as BrokerId,
  url: `http://${id}:7333`,
  kind: 'process',
  zone: '',
  instance: `instance of ${id}`,
  version: 7,
  load: IDLE,
  pressure: [],
  startedMs: 1,
  heartbeatMs: 2,
  segments: 0,
  ...more,
});

export type ControlCall = { readonly name: string; readonly given: readonly unknown[] };

/** Two brokers, of which the first leads, and every segment is theirs. Writes down what it is asked. */
export function createFakeControl(change: Partial<Control> = {}): Control & { readonly calls: readonly ControlCall[] } {
  const [a, b] = [brokerStatus('a', { segments: 3 }), brokerStatus('b', { kind: 'fleet', zone: 'z1', drainPerSecond: 5 })];
  const calls: ControlCall[] = [];
  const control: Control = {
    self: a.id,
    brokers: () => Promise.resolve([a, b]),
    leader: () => Promise.resolve({ id: a.id, url: a.url, epoch: 3 }),
    assignment: (_, segment) => Promise.resolve({ segment, brokers: [a, b], successors: [] }),
    drain: () => Promise.resolve({ segments: 3 }),
    split: (_, segment, at) =>
      Promise.resolve([
        { segment: segmentId(segmentNumber(segment) + 1), lo: 0, hi: at - 1, addresses: [a] },
        { segment: segmentId(segmentNumber(segment) + 2), lo: at, hi: PARTITIONS - 1, addresses: [b] },
      ]),
    merge: (_, [, segment]) =>
      Promise.resolve([{ segment: segmentId(segmentNumber(segment) + 1), lo: 0, hi: PARTITIONS - 1, addresses: [a, b] }]),
    rebalance: () => Promise.resolve([]),
    loads: () => Promise.resolve(undefined),
    ...change,
  };
  return {
    ...control,
    calls,
    assignment(topic, segment, options, signal) {
      calls.push({ name: 'assignment', given: [topic.name, segment, options] });
      return control.assignment(topic, segment, options, signal);
    },
    rebalance({ topic, dryRun }, signal) {
      calls.push({ name: 'rebalance', given: [topic?.name, dryRun] });
      return control.rebalance({ dryRun, ...(topic === undefined ? {} : { topic }) }, signal);
    },
    loads(topic, signal) {
      calls.push({ name: 'loads', given: [topic.name] });
      return control.loads(topic, signal);
    },
    drain(broker, options, signal) {
      calls.push({ name: 'drain', given: [broker, options] });
      return control.drain(broker, options, signal);
    },
  };
}

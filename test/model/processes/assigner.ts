import { type Assigner, createAssigner } from '../../../src/control/assignment/assign.ts';
import { type BrokerRecord, IDLE } from '../../../src/model/broker.ts';
import type { BrokerId, SegmentId } from '../../../src/model/ids.ts';
import type { TopologyDeps } from '../../../src/topology/apply-change.ts';
import type { Process } from '../engine/process.ts';
import { NEVER_ABORTED, TOPIC } from './broker.ts';
import { changing } from './leader.ts';

export const noCounts = { of: () => 0, add: () => {}, read: async () => {}, reset: () => {} };

/** The product's own, of a leader to whom these brokers are all there are. Which of them it takes is not the point. */
export function assignerOf(deps: TopologyDeps, brokers: readonly BrokerId[]): Assigner {
  const list = async (): Promise<readonly BrokerRecord[]> => brokers.map(recordOf);
  const directory = { list, known: () => undefined, addresses: async () => [], learn: () => {}, forget: () => {} };
  return createAssigner({ ...deps, directory, counts: noCounts });
}

/** A leader that is asked who serves a segment. */
export function assigner(name: string, segment: SegmentId, brokers: readonly BrokerId[]): Process {
  return changing(name, async (deps) => {
    const told = await assignerOf(deps, brokers).assign({ id: TOPIC, name: 'topic' }, segment, NEVER_ABORTED);
    return { ended: told.join() };
  });
}

const recordOf = (id: BrokerId): BrokerRecord => ({
  id,
  url: `http://${id}`,
  kind: 'process',
  zone: '',
  instance: id,
  version: 1,
  load: IDLE,
  pressure: [],
  startedMs: 0,
  heartbeatMs: 0,
});

import { type ControlPlane, createControl } from '../control/create-control.ts';
import { type BrokerAddress, IDLE } from '../model/broker.ts';
import type { BrokerId } from '../model/ids.ts';
import type { Sweep } from '../model/sweep-report.ts';
import { createHeads } from '../state/heads.ts';
import { createTopics } from '../topics/create-topics.ts';
import type { Topics } from '../topics/topics.ts';
import type { PublishingPorts } from './create-publishing.ts';
import { sweep, type SweepingPorts } from './sweep.ts';

export type LeadingPorts = Omit<PublishingPorts, 'presigner' | 'sha256' | 'meter' | 'rebalanceMs'> & SweepingPorts;

export type Leading = {
  readonly topics: Topics;
  readonly control: ControlPlane;
  readonly sweep: Sweep;
  /** Where a broker is, as far as is known without asking. */
  addressOf(broker: BrokerId): BrokerAddress | undefined;
};

/** What changes topics and leads, of one that takes no messages. */
export function createLeading(ports: LeadingPorts): Leading {
  const deps = { ...ports, heads: createHeads(ports.table), meter: { sample: () => IDLE }, pressure: { sample: () => [] } };
  const control = createControl(deps);
  return {
    topics: createTopics(deps),
    control,
    sweep: (options, signal) => sweep(deps, options, signal),
    addressOf: (id) => control.directory.known(id),
  };
}

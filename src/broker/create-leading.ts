import { type ControlPlane, createControl } from '../control/create-control.ts';
import { type BrokerAddress, IDLE } from '../model/broker.ts';
import type { BrokerId } from '../model/ids.ts';
import { createHeads } from '../state/heads.ts';
import { createTopics } from '../topics/create-topics.ts';
import type { Topics } from '../topics/topics.ts';
import type { PublishingPorts } from './create-publishing.ts';

export type LeadingPorts = Omit<PublishingPorts, 'presigner' | 'compression' | 'sha256' | 'meter' | 'rebalanceMs'>;

export type Leading = {
  readonly topics: Topics;
  readonly control: ControlPlane;
  /** Where a broker is, as far as is known without asking. */
  addressOf(broker: BrokerId): BrokerAddress | undefined;
};

/** What changes topics and leads, of one that takes no messages. */
export function createLeading(ports: LeadingPorts): Leading {
  const deps = { ...ports, heads: createHeads(ports.table), meter: { sample: () => IDLE }, pressure: { sample: () => [] } };
  const control = createControl(deps);
  return { topics: createTopics(deps), control, addressOf: (id) => control.directory.known(id) };
}

import { type ControlPlane, createControl } from '../control/create-control.ts';
import type { MemberAddress } from '../control/member.ts';
import { type BrokerAddress, IDLE } from '../model/broker.ts';
import type { BrokerId } from '../model/ids.ts';
import type { Background } from '../ports/background.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Peers } from '../ports/peers.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { createHeads } from '../state/heads.ts';
import { createTopics } from '../topics/create-topics.ts';
import type { Topics } from '../topics/topics.ts';

/** As of PublishingPorts, as far as they are needed. */
export type LeadingPorts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly background: Background;
  readonly self?: MemberAddress;
  readonly peers?: Peers;
};

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

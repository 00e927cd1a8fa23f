import type { PeersDeps } from '../adapters/peers/signed-peers.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { wrapTable } from '../adapters/wrap/stores.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Peers } from '../ports/peers.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { CommonConfiguration } from './environment.ts';

/** Absent: it asks nothing of anybody. */
export type PeerSecrets = Pick<CommonConfiguration, 'internalSecrets'>;

export type MemberParts = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** How other brokers are asked. */
  readonly peersOf: (deps: PeersDeps) => Peers;
};

export type AssembledMember = Omit<MemberParts, 'peersOf'> & { readonly random: Random; readonly peers?: Peers };

/** What whoever takes part in the control plane needs, in every runtime. */
export function assembleMember({ internalSecrets: secret }: PeerSecrets, parts: MemberParts): AssembledMember {
  const { table, clock, telemetry, peersOf } = parts;
  const random = createSystemRandom();
  const wrapping = { clock, random, telemetry };
  return {
    ...wrapping,
    table: wrapTable(table, wrapping),
    ...(secret === undefined ? {} : { peers: peersOf({ clock, secret }) }),
  };
}

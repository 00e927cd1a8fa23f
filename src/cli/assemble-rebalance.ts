import { createHttpPeers } from '../adapters/peers/http-peers.ts';
import { createBackground } from '../adapters/system/background.ts';
import { createLogTelemetry } from '../adapters/system/log-telemetry.ts';
import { watchedTable } from '../adapters/wrap/watched.ts';
import { createControl } from '../control/create-control.ts';
import type { MemberAddress } from '../control/member.ts';
import { IDLE } from '../model/broker.ts';
import type { BrokerId } from '../model/ids.ts';
import { LEAVE_MS_MAX } from '../model/limits.ts';
import { createHeads } from '../state/heads.ts';
import type { LeadingParts } from './assemble-function.ts';
import { assembleMember, type PeerSecrets } from './assemble-member.ts';
import { rebalanceWork } from './rebalance-work.ts';
import { createScheduleHandler, type ScheduleHandler } from './schedule-handler.ts';

export type RebalanceParts = Omit<LeadingParts, 'store'>;

/** It serves nothing and nobody can ask it anything: it registers nowhere, and leads only for the time of a call. */
const SELF: MemberAddress = { id: 'rebalance' as BrokerId, url: '', kind: 'fleet', zone: '' };

/** The control plane without a broker, for a schedule: has all topics looked at by whoever leads, or else by itself. */
export function assembleRebalance(secrets: PeerSecrets, { table, clock, write, onTerminate }: RebalanceParts): ScheduleHandler {
  const telemetry = createLogTelemetry({ clock, write });
  const member = assembleMember(secrets, { table, clock, telemetry, peersOf: createHttpPeers });
  const { watch, settled } = createBackground(member);
  const watched = watchedTable(member.table, watch);
  const control = createControl({
    ...member,
    table: watched,
    heads: createHeads(watched),
    meter: { sample: () => IDLE },
    pressure: { sample: () => [] },
    self: SELF,
  });
  onTerminate(() => control.leave(clock.deadline(LEAVE_MS_MAX)));
  return createScheduleHandler({
    clock,
    telemetry,
    settled,
    work: rebalanceWork((asked, signal) => control.leaderService.rebalance(asked, signal)),
  });
}

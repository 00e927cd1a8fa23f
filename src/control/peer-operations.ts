import type { BrokerId } from '../model/ids.ts';
import type { PeerOperation } from '../ports/peers.ts';
import type { Registration } from './brokers/registration.ts';
import { boundPlans } from './bound-plans.ts';
import { notLeader } from './not-leader.ts';
import type { LeaderService } from './control.ts';
import type { Leadership } from './leader/leadership.ts';
import { decodeRequest, encodeMessage, PEER_MESSAGES } from './peer-messages.ts';

export type OperationDeps = {
  readonly self: BrokerId;
  readonly registration: Pick<Registration, 'instance' | 'version'>;
  readonly leadership: Pick<Leadership, 'current'>;
  /** Another broker has asked something. */
  readonly noteAsked: () => void;
  /** What the leader does; error `not-leader` while this one isn't. */
  readonly service: LeaderService;
};

/** What this broker does for others, by the operation's name. */
export function createPeerOperations(deps: OperationDeps): Readonly<Record<string, PeerOperation>> {
  const { self, registration, leadership, service, noteAsked } = deps;
  return {
    async lease(body) {
      decodeRequest(PEER_MESSAGES.lease.request, body);
      noteAsked();
      const held = leadership.current();
      if (held === undefined) throw notLeader();
      return encodeMessage({ epoch: held.term.epoch, version: held.version });
    },
    async probe(body) {
      decodeRequest(PEER_MESSAGES.probe.request, body);
      noteAsked();
      return encodeMessage({ broker: self, instance: registration.instance, version: registration.version() });
    },
    async assign(body, signal) {
      const { topic, name, segment } = decodeRequest(PEER_MESSAGES.assign.request, body);
      return encodeMessage({ brokers: await service.assign({ id: topic, name }, segment, signal) });
    },
    async suspect(body, signal) {
      const { topic, segment, broker } = decodeRequest(PEER_MESSAGES.suspect.request, body);
      return encodeMessage(await service.suspect({ topic, segment }, broker, signal));
    },
    async drain(body, signal) {
      const { broker, perSecond } = decodeRequest(PEER_MESSAGES.drain.request, body);
      return encodeMessage(await service.drain(broker, { perSecond }, signal));
    },
    async change(body, signal) {
      const { topic, change } = decodeRequest(PEER_MESSAGES.change.request, body);
      return encodeMessage({ successors: await service.change({ id: topic }, change, signal) });
    },
    async rebalance(body, signal) {
      const asked = decodeRequest(PEER_MESSAGES.rebalance.request, body);
      return encodeMessage({ topics: boundPlans(await service.rebalance(asked, signal)) });
    },
    async nudge(body, signal) {
      const { topic, pressures } = decodeRequest(PEER_MESSAGES.nudge.request, body);
      await service.nudge(topic, pressures, signal);
      return encodeMessage({});
    },
    async loads(body, signal) {
      const { topic } = decodeRequest(PEER_MESSAGES.loads.request, body);
      return encodeMessage(await service.loads(topic, signal));
    },
  };
}

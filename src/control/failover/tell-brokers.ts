import type { BrokerAddress } from '../../model/broker.ts';
import type { BrokerId, SegmentId, TopicId } from '../../model/ids.ts';
import { BROKER_PROBE_MS_MAX, FLUSH_MS_MAX } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerAnswer, Peers } from '../../ports/peers.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { askPeer } from '../ask-peer.ts';
import { encodeMessage } from '../peer-messages.ts';
import type { Probe, Shown } from './judge-brokers.ts';

/** What the leader says to brokers. None of it is needed for anything to be right. */
export type Messenger = {
  probe(broker: BrokerAddress, signal: AbortSignal): Promise<{ readonly probe: Probe; readonly shown?: Shown }>;
  /** That the segment is about to be sealed: what it holds of it lands before, and need not go elsewhere. */
  flush(
    broker: BrokerAddress,
    what: { readonly topic: TopicId; readonly segments: readonly SegmentId[] },
    signal: AbortSignal,
  ): Promise<void>;
  /** That the topic of this name has other segments now. Nobody waits for it. */
  refresh(brokers: readonly BrokerAddress[], name: string, signal: AbortSignal): void;
};

type MessengerDeps = { readonly clock: Clock; readonly telemetry: Telemetry; readonly peers?: Peers };
type Message = { readonly broker: BrokerAddress; readonly operation: string; readonly body: unknown; readonly timeoutMs: number };

const OK = 200;

export function createMessenger(deps: MessengerDeps): Messenger {
  const untold = ({ broker, operation }: Message, cause: unknown): void => {
    deps.telemetry.count('kelp.brokers.untold', 1, { operation });
    deps.telemetry.log('warn', `a broker was not told to ${operation}`, { broker: broker.id, error: cause });
  };
  const tell = async (message: Message, signal: AbortSignal): Promise<void> => {
    try {
      const answer = await send(deps, message, signal);
      if (answer !== undefined && answer.status !== OK) untold(message, `status ${answer.status}`);
    } catch (error) {
      if (!signal.aborted) untold(message, error);
    }
  };
  return {
    async probe(broker, signal) {
      const { peers, clock } = deps;
      // Without a way to ask, nothing speaks against it.
      if (peers === undefined) return { probe: 'answered' };
      try {
        const question = { broker, operation: 'probe' as const, request: {}, timeoutMs: BROKER_PROBE_MS_MAX };
        const { instance, version } = await askPeer({ peers, clock }, question, signal);
        return { probe: 'answered', shown: { instance, version, answeredMs: clock.monotonicMs() } };
      } catch {
        signal.throwIfAborted();
        return { probe: 'failed' };
      }
    },
    flush: (broker, what, signal) => tell({ broker, operation: 'flush', body: what, timeoutMs: FLUSH_MS_MAX }, signal),
    refresh(brokers, name, signal) {
      for (const broker of brokers) {
        void tell({ broker, operation: 'refresh', body: { topics: [name] }, timeoutMs: BROKER_PROBE_MS_MAX }, signal);
      }
    },
  };
}

/** Of segments that are about to be sealed, who serves them still is told: what it holds lands in them, and needs no second upload. */
export async function flushServed(
  deps: { readonly messenger: Messenger; readonly living: () => readonly BrokerAddress[] },
  topic: TopicId,
  segments: readonly { readonly segment: SegmentId; readonly brokers: readonly BrokerId[] }[],
  signal: AbortSignal,
): Promise<void> {
  const servedBy = ({ id }: BrokerAddress): SegmentId[] => segments.flatMap((one) => (one.brokers.includes(id) ? [one.segment] : []));
  const told = deps.living().filter((broker) => servedBy(broker).length > 0);
  await Promise.all(told.map((broker) => deps.messenger.flush(broker, { topic, segments: servedBy(broker) }, signal)));
}

/** Undefined: this instance knows no way to ask others. Ends with the signal, or after `timeoutMs`. */
async function send(deps: MessengerDeps, message: Message, signal: AbortSignal): Promise<PeerAnswer | undefined> {
  if (deps.peers === undefined) return undefined;
  const { broker, operation, timeoutMs } = message;
  const body = [encodeMessage(message.body)];
  return deps.peers.send({ broker, operation, body, timeoutMs }, AbortSignal.any([signal, deps.clock.deadline(timeoutMs)]));
}

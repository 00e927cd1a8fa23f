import { decodeProblem } from '../format/peer-problem.ts';
import type { BrokerAddress } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import type { PeerAnswer, Peers } from '../ports/peers.ts';
import { decodeOutcomes, encodeForward } from './forward-codec.ts';
import type { PartOutcome } from './part.ts';
import type { Forward } from './routes.ts';

const OK = 200;

/** See {@link Routes.send}. Once the other one has begun, it has no errors, only outcomes. */
export async function sendForward(
  peers: Peers,
  broker: BrokerAddress,
  forward: Forward,
  signal: AbortSignal,
): Promise<readonly PartOutcome[]> {
  const { timeoutMs, parts } = forward;
  const answer = await peers.send({ broker, operation: 'publish', body: encodeForward(forward), timeoutMs }, signal);
  if (answer.status !== OK) throw refusal(broker, answer);
  try {
    return decodeOutcomes(answer.body, parts);
  } catch (cause) {
    throw new KelpError('indefinite', 'peer-indefinite', `broker ${broker.id} answered what is not understood`, { cause });
  }
}

function refusal({ id }: BrokerAddress, { status, body }: PeerAnswer): KelpError {
  const cause = decodeProblem(status, body);
  // A fault over there may have come at any time.
  if (cause.kind === 'indefinite') return new KelpError('indefinite', 'peer-indefinite', `broker ${id} failed over a publish`, { cause });
  return new KelpError('unavailable', 'peer-busy', `broker ${id} has taken nothing`, { cause });
}

import type { z } from 'zod/mini';
import { decodeProblem } from '../format/peer-problem.ts';
import type { BrokerAddress } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Peers } from '../ports/peers.ts';
import { within } from '../state/within.ts';
import { decodeAnswer, encodeMessage, PEER_MESSAGES } from './peer-messages.ts';

type Messages = typeof PEER_MESSAGES;
export type PeerQuestion = keyof Messages;
export type PeerAsked<Q extends PeerQuestion> = z.infer<Messages[Q]['request']>;
export type PeerAnswered<Q extends PeerQuestion> = z.infer<Messages[Q]['answer']>;

const OK = 200;

/**
 * One attempt. Errors as of `Peers.send`; whatever the other one threw; `unavailable`/`peer-silent` once `timeoutMs` are
 * over, which is no end of the caller's time.
 */
export async function askPeer<Q extends PeerQuestion>(
  deps: { readonly peers: Peers; readonly clock: Clock },
  question: { readonly broker: BrokerAddress; readonly operation: Q; readonly request: PeerAsked<Q>; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<PeerAnswered<Q>> {
  const { broker, operation, request, timeoutMs } = question;
  const reason = (): KelpError => new KelpError('unavailable', 'peer-silent', `broker ${broker.id} did not answer within ${timeoutMs} ms`);
  const send = { broker, operation, body: [encodeMessage(request)], timeoutMs };
  const answer = await within(deps.clock, { ms: timeoutMs, reason }, (own) => deps.peers.send(send, own), signal);
  if (answer.status !== OK) throw decodeProblem(answer.status, answer.body);
  const schema: z.ZodMiniType = PEER_MESSAGES[operation].answer;
  return decodeAnswer(schema, answer.body) as PeerAnswered<Q>;
}

import { PEER_BROKER_HEADER, PEER_METHOD, PEER_PATH, PEER_SIGNATURE_HEADER, PEER_TIMEOUT_HEADER } from '../../format/peer-request.ts';
import { KelpError } from '../../model/errors.ts';
import { PEER_ANSWER_BYTES_MAX, PEER_CONNECT_MS_MAX, SIGNATURE_SKEW_MS_MAX, TIMEOUT_MS_MAX } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerAnswer, PeerRequest, Peers } from '../../ports/peers.ts';
import type { Answer, Connect, ExchangeRequest } from '../signed-http/exchange.ts';
import { ExchangeFailure } from '../signed-http/failure.ts';
import { createOrigins, type Origin } from './origins.ts';
import { bodyHashOf, createPeerSignatures, type PeerSignatures } from './signature.ts';

export type PeersDeps = {
  readonly clock: Clock;
  /** The first one signs. */
  readonly secret: string | readonly string[];
};

type Context = { readonly clock: Clock; readonly signatures: PeerSignatures };
type Attempt = { readonly request: PeerRequest; readonly origin: Origin; readonly bodyHash: string };

/** What is answered where no broker has looked at the request: the signature isn't taken, or there is no such path. */
const UNSEEN = new Set([401, 403, 404, 405, 413, 421]);
/** Smaller differences of clocks are never refused, so they are not the reason; half of the bound, since a request takes time. */
const SKEW_MS_MIN = SIGNATURE_SKEW_MS_MAX / 2;
const PUBLISH = 'publish';
/** Made once: an abort without a reason makes an error with a stack. */
const SENT = new Error('it was sent');

/** Signed requests to other brokers, over connections of any kind. */
export function createSignedPeers({ clock, secret, connect }: PeersDeps & { readonly connect: Connect }): Peers {
  const context = { clock, signatures: createPeerSignatures(secret, clock) };
  const origins = createOrigins(connect);
  return {
    async send(request, signal) {
      signal.throwIfAborted();
      const origin = origins.of(request.broker.url);
      if (origin === undefined) throw refused(request, 'its url is none');
      return send(context, { request, origin, bodyHash: bodyHashOf(request.body) }, signal);
    },
  };
}

async function send(context: Context, attempt: Attempt, signal: AbortSignal): Promise<PeerAnswer> {
  const { request } = attempt;
  let answer = await exchange(context, attempt, signal);
  if (isUnseen(answer) && corrected(context, attempt.origin, answer)) answer = await exchange(context, attempt, signal);
  const from = answer.headers[PEER_BROKER_HEADER];
  if (from === request.broker.id) return { status: answer.status, body: answer.body };
  if (from !== undefined) throw refused(request, 'another broker lives there');
  if (isUnseen(answer)) throw refused(request, `status ${answer.status} of somebody else, or of one with another secret`);
  throw indefinite(request, new Error(`status ${answer.status} of somebody between`));
}

async function exchange(context: Context, attempt: Attempt, signal: AbortSignal): Promise<Answer> {
  const { request, origin } = attempt;
  const signed = signedRequest(context, attempt);
  try {
    if (request.operation !== PUBLISH) return await origin.others(signed, signal);
    return await exchangeSoon(context, { origin, signed }, signal);
  } catch (error) {
    throw failure(request, error, signal);
  }
}

/** A publish that has not left within the time was surely not received, and can be stored without this broker. */
async function exchangeSoon(
  { clock }: Context,
  { origin, signed }: { readonly origin: Origin; readonly signed: ExchangeRequest },
  signal: AbortSignal,
): Promise<Answer> {
  const sent = new AbortController();
  const givenUp = new AbortController();
  clock.sleep(PEER_CONNECT_MS_MAX, sent.signal).then(
    () => givenUp.abort(),
    () => undefined, // `sent` is all that can end it
  );
  try {
    return await origin.publishes({ ...signed, onSent: () => sent.abort(SENT) }, AbortSignal.any([signal, givenUp.signal]));
  } finally {
    sent.abort(SENT);
  }
}

function signedRequest({ clock, signatures }: Context, { request, origin, bodyHash }: Attempt): ExchangeRequest {
  const { broker, operation, body, timeoutMs } = request;
  const path = PEER_PATH + operation;
  const timeMs = clock.nowMs() + origin.aheadMs;
  return {
    method: PEER_METHOD,
    target: path,
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(body.reduce((sum, part) => sum + part.length, 0)),
      [PEER_BROKER_HEADER]: broker.id,
      [PEER_TIMEOUT_HEADER]: String(Math.min(Math.max(1, Math.floor(timeoutMs)), TIMEOUT_MS_MAX)),
      [PEER_SIGNATURE_HEADER]: signatures.sign({ method: PEER_METHOD, path, broker: broker.id, bodyHash, timeMs }),
    },
    body,
    answerBytesMax: PEER_ANSWER_BYTES_MAX,
  };
}

/** Nobody has looked at the request: a broker says in each of its answers who it is. */
const isUnseen = ({ status, headers }: Answer): boolean => UNSEEN.has(status) && headers[PEER_BROKER_HEADER] === undefined;

/** Whether our clocks are so far apart that this was the reason; if so, its time is taken from now on. */
function corrected({ clock }: Context, origin: Origin, { headers }: Answer): boolean {
  const aheadMs = new Date(headers.date ?? '').getTime() - clock.nowMs();
  // NaN where the header says nothing.
  if (!(Math.abs(aheadMs - origin.aheadMs) >= SKEW_MS_MIN)) return false;
  origin.aheadMs = aheadMs;
  return true;
}

function failure(request: PeerRequest, error: unknown, signal: AbortSignal): unknown {
  if (!(error instanceof ExchangeFailure) || error.sent) return indefinite(request, signal.aborted ? signal.reason : error);
  return signal.aborted ? signal.reason : refused(request, error.message, error);
}

function refused({ broker, operation }: PeerRequest, why: string, cause?: unknown): KelpError {
  return new KelpError('unavailable', 'peer-refused', `broker ${broker.id} has not received ${operation}: ${why}`, { cause });
}

function indefinite({ broker, operation }: PeerRequest, cause: unknown): KelpError {
  return new KelpError('indefinite', 'peer-indefinite', `broker ${broker.id} may have received ${operation}`, { cause });
}

import type { Bytes } from '../../model/message.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Answer, Connect } from './exchange.ts';
import { createServiceClock, type ServiceClock } from './service-clock.ts';
import { createSigner, type Keys, signingOf, type Service } from './signature.ts';

/** What a client of this kind needs of its runtime. */
export type Connecting = {
  readonly clock: Clock;
  readonly connect: Connect;
  /** Where others sign for the same service, too; absent: one of its own. */
  readonly serviceClock?: ServiceClock;
};

export type SignedExchangeSettings = Connecting &
  Keys & {
    readonly service: Service;
    readonly endpoint?: string;
    /** The error's name in an answer of this service. */
    readonly codeOf: (answer: Answer) => string | undefined;
  };

export type SignedExchangeRequest = {
  readonly method: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Percent-encoded, its names in order; empty for none. */
  readonly query: string;
  /** Headers that the signature covers; lower-case names. */
  readonly signedHeaders: Readonly<Record<string, string>>;
  readonly otherHeaders: Readonly<Record<string, string>>;
  readonly bodyHash: string;
  readonly body: readonly Bytes[];
  readonly answerBytesMax: number;
};

/** Rejects with an ExchangeFailure. */
export type SignedExchange = (request: SignedExchangeRequest, signal: AbortSignal) => Promise<Answer>;

/** How services say that a signature's time is too far from theirs. Some say the same of a wrong key. */
const SKEW_CODES = new Set(['RequestTimeTooSkewed', 'RequestExpired', 'RequestInTheFuture', 'InvalidSignatureException']);
const FORBIDDEN = 403;

/**
 * Signed requests over kept connections. A clock that is far off would shut its machine out, since signatures carry a time:
 * so a refusal for that reason, which changed nothing, is answered by the same request with the service's own time.
 */
export function createSignedExchange(settings: SignedExchangeSettings): SignedExchange {
  const { service, region, endpoint, clock, connect, serviceClock = createServiceClock(clock), codeOf } = settings;
  const sign = createSigner(service, signingOf(service, settings));
  const url = new URL(endpoint ?? `https://${service}.${region}.amazonaws.com`);
  const exchange = connect(url);

  function send(request: SignedExchangeRequest, signal: AbortSignal): Promise<Answer> {
    const { method, path, query, signedHeaders, otherHeaders, bodyHash, body, answerBytesMax } = request;
    const signed = sign({ method, path, query, host: url.host, headers: signedHeaders, bodyHash, timeMs: serviceClock.nowMs() });
    const target = query === '' ? path : `${path}?${query}`;
    return exchange({ method, target, headers: Object.assign(signed, otherHeaders), body, answerBytesMax }, signal);
  }

  function mayBeSkewed(method: string, answer: Answer): boolean {
    if (answer.status < 400 || answer.status >= 500) return false;
    const code = codeOf(answer);
    // To a HEAD it can't name its reason.
    return code === undefined ? method === 'HEAD' && answer.status === FORBIDDEN : SKEW_CODES.has(code);
  }

  return async (request, signal) => {
    const answer = await send(request, signal);
    return mayBeSkewed(request.method, answer) && serviceClock.correct(answer.headers.date) ? await send(request, signal) : answer;
  };
}

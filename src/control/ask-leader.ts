import { type BrokerAddress, isReached, type Leader } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import { ATTEMPT_MS_MAX, RETRY_AFTER_MS } from '../model/limits.ts';
import { REBALANCE_ATTEMPT_MS_MAX } from '../model/scaling-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Peers } from '../ports/peers.ts';
import { isTransient } from '../state/ask-again.ts';
import { askPeer, type PeerAnswered, type PeerAsked } from './ask-peer.ts';
import { boundPlans } from './bound-plans.ts';
import type { LeaderService } from './control.ts';
import type { LeaderFinder } from './leader/find-leader.ts';
import { outOfTime, type WithLeader } from './leader/with-leader.ts';
import type { LookOnce } from './look-once.ts';

/** The part of this broker that may lead. */
export type OwnService = {
  readonly self: BrokerAddress;
  /** What the leader does; error `not-leader` while this one isn't. */
  readonly service: LeaderService;
  /** Leads for a call, as soon as nobody else does; undefined: it leads in the background. */
  readonly leadOnce?: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  /** As of {@link LookOnce}, where it leads for a call. */
  readonly lookOnce?: LookOnce;
};

export type OwnPerCall = OwnService & Required<Pick<OwnService, 'leadOnce'>>;

export type AskLeaderDeps = {
  readonly clock: Clock;
  readonly withLeader: WithLeader;
  readonly finder: LeaderFinder;
  readonly peers?: Peers;
  /** Undefined: this instance can't lead. */
  readonly own: OwnService | undefined;
  /** Of one that can't be reached: where nobody else may be there at all, it leads for a call that changes segments. */
  readonly changing?: OwnPerCall;
};

type LeaderQuestion = 'assign' | 'suspect' | 'drain' | 'change' | 'rebalance' | 'nudge' | 'loads';
type Question<Q extends LeaderQuestion> = {
  readonly operation: Q;
  readonly request: PeerAsked<Q>;
  /** Bounds one attempt, in place of ATTEMPT_MS_MAX. */
  readonly attemptMs?: number;
  /** The same, asked of this broker. */
  readonly locally: (service: LeaderService, signal: AbortSignal) => Promise<PeerAnswered<Q>>;
};

const CHANGING: ReadonlySet<LeaderQuestion> = new Set<LeaderQuestion>(['change', 'rebalance']);

type Ask = <Q extends LeaderQuestion>(question: Question<Q>, signal: AbortSignal) => Promise<PeerAnswered<Q>>;

/**
 * Whoever leads, as a service: this broker itself, another one by request, or this one for the time of the call. Waits for
 * a leader as long as its caller does; `nudge` and `loads` don't: error `unavailable` at once. `loads` is worth no lease, and
 * `nudge` one that nobody has.
 */
export function createAskLeader(deps: AskLeaderDeps): LeaderService {
  const ask: Ask = (question, signal) => {
    const { own, changing } = deps;
    if (changing !== undefined && CHANGING.has(question.operation)) return changeAlone(deps, changing, question, signal);
    if (own?.leadOnce === undefined) return askUntilAnswered(deps, question, signal);
    return askOrLead(deps, { ...own, leadOnce: own.leadOnce }, question, signal);
  };
  return {
    async assign({ id, name }, segment, signal) {
      const { brokers } = await ask<'assign'>(
        {
          operation: 'assign',
          request: { topic: id, name, segment },
          locally: async (service, ends) => ({ brokers: [...(await service.assign({ id, name }, segment, ends))] }),
        },
        signal,
      );
      return brokers;
    },
    suspect: ({ topic, segment }, broker, signal) =>
      ask<'suspect'>(
        {
          operation: 'suspect',
          request: { topic, segment, broker },
          locally: (service, ends) => service.suspect({ topic, segment }, broker, ends),
        },
        signal,
      ),
    drain: (broker, { perSecond }, signal) =>
      ask<'drain'>(
        { operation: 'drain', request: { broker, perSecond }, locally: (service, ends) => service.drain(broker, { perSecond }, ends) },
        signal,
      ),
    async change({ id }, change, signal) {
      const { successors } = await ask<'change'>(
        {
          operation: 'change',
          request: { topic: id, change },
          locally: async (service, ends) => ({ successors: [...(await service.change({ id }, change, ends))] }),
        },
        signal,
      );
      return successors;
    },
    ...askOfScaling(deps, ask),
  };
}

function askOfScaling(deps: AskLeaderDeps, ask: Ask): Pick<LeaderService, 'rebalance' | 'nudge' | 'loads'> {
  return {
    async rebalance(asked, signal) {
      const { topics } = await ask<'rebalance'>(
        {
          operation: 'rebalance',
          request: asked,
          attemptMs: REBALANCE_ATTEMPT_MS_MAX,
          locally: async (service, ends) => ({ topics: boundPlans(await service.rebalance(asked, ends)) }),
        },
        signal,
      );
      return topics;
    },
    async nudge(topic, pressures, signal) {
      const lookOnce = deps.own?.lookOnce ?? deps.changing?.lookOnce;
      const askThem = async (): Promise<void> => {
        const request = { topic, pressures: [...pressures] };
        const locally: Question<'nudge'>['locally'] = async (service, ends) => (await service.nudge(topic, pressures, ends), {});
        await askKnown<'nudge'>(deps, { operation: 'nudge', request, locally }, signal);
      };
      await (lookOnce === undefined ? askThem() : lookOnce({ topic, pressures }, askThem, signal));
    },
    loads: (topic, signal) =>
      askKnown<'loads'>(deps, { operation: 'loads', request: { topic }, locally: (service, ends) => service.loads(topic, ends) }, signal),
  };
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

async function askUntilAnswered<Q extends LeaderQuestion>(
  deps: AskLeaderDeps,
  question: Question<Q>,
  signal: AbortSignal,
): Promise<PeerAnswered<Q>> {
  if (deps.own === undefined && deps.peers === undefined) throw noLeader('this broker has no way to ask the leader');
  const outcome = await deps.withLeader(signal, async (leader, ends): Promise<Outcome<PeerAnswered<Q>>> => {
    try {
      return { value: await askOnce(deps, leader, question, ends) };
    } catch (error) {
      // The leader has answered: nothing would change by asking again.
      if (isDecided(error)) return { error };
      throw error;
    }
  });
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

async function askOnce<Q extends LeaderQuestion>(
  { own, peers, clock }: AskLeaderDeps,
  leader: Leader,
  { operation, request, attemptMs = ATTEMPT_MS_MAX, locally }: Question<Q>,
  signal: AbortSignal,
): Promise<PeerAnswered<Q>> {
  if (own !== undefined && leader.id === own.self.id) return locally(own.service, signal);
  if (peers === undefined) throw noLeader(`this broker has no way to ask the leader, ${leader.id}`);
  return askPeer({ peers, clock }, { broker: leader, operation, request, timeoutMs: attemptMs }, signal);
}

/** Whoever is known to lead, once. */
async function askKnown<Q extends LeaderQuestion>(
  deps: AskLeaderDeps,
  question: Question<Q>,
  signal: AbortSignal,
): Promise<PeerAnswered<Q>> {
  if (deps.own === undefined && deps.peers === undefined) throw noLeader('this broker has no way to ask the leader');
  const leader = await deps.finder.find(signal);
  if (!isReached(leader)) throw noLeader('nobody leads that could be asked');
  try {
    return await askOnce(deps, leader, question, signal);
  } catch (error) {
    if (!signal.aborted) deps.finder.forget();
    throw error;
  }
}

/** A function leads only while somebody needs it to; a leader that can be asked is asked. One without an address can't. */
async function askOrLead<Q extends LeaderQuestion>(
  deps: AskLeaderDeps,
  own: OwnPerCall,
  question: Question<Q>,
  signal: AbortSignal,
): Promise<PeerAnswered<Q>> {
  const leader = await deps.finder.find(signal);
  let failure: unknown;
  if (isReached(leader) && leader.id !== own.self.id && deps.peers !== undefined) {
    try {
      return await askOnce(deps, leader, question, signal);
    } catch (error) {
      if (signal.aborted || isDecided(error) || !isTransient(error)) throw error;
      failure = error;
      deps.finder.forget();
    }
  }
  try {
    return await own.leadOnce(() => question.locally(own.service, signal), signal);
  } catch (error) {
    throw signal.aborted ? outOfTime(signal.reason, failure) : error;
  }
}

/** Beside a process that leads, and can't be asked, the lease would never be free. */
async function changeAlone<Q extends LeaderQuestion>(
  deps: AskLeaderDeps,
  changing: OwnPerCall,
  question: Question<Q>,
  signal: AbortSignal,
): Promise<PeerAnswered<Q>> {
  const leader = deps.peers === undefined ? await deps.finder.find(signal) : undefined;
  if (isReached(leader)) throw noLeader(`this broker has no way to ask the leader, ${leader.id}`);
  return askOrLead(deps, changing, question, signal);
}

/** Unavailable, and no leader could do more now. */
const isDecided = (error: unknown): boolean => error instanceof KelpError && error.code === 'no-brokers';

const noLeader = (message: string): KelpError => new KelpError('unavailable', 'no-leader', message, { retryAfterMs: RETRY_AFTER_MS });

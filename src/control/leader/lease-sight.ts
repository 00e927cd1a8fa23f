import type { BrokerAddress, Lease } from '../../model/broker.ts';
import { LEASE_READ_MS } from '../../model/limits.ts';
import { leasePace, type LeaseWatch, takeableInMs, watchAnswer, watchLease } from '../../protocol/lease.ts';
import { isTransient } from '../../state/ask-again.ts';
import { within } from '../../state/within.ts';
import type { LeaderFinder } from './find-leader.ts';
import { readLease, type StepDeps } from './lease-steps.ts';

/** Epoch and version that the leader says it holds; undefined: it does not answer, or does not lead. */
export type AskLeader = (
  leader: BrokerAddress,
  signal: AbortSignal,
) => Promise<{ readonly epoch: number; readonly version: number } | undefined>;

export type SightDeps = StepDeps & {
  readonly self: BrokerAddress;
  readonly finder: LeaderFinder;
  readonly askLeader?: AskLeader;
  readonly leaseMs: number;
  /** This instance lives shorter than a lease: it goes by the expiry of others' leases, and its own has one. */
  readonly expires: boolean;
};

/** The lease as this instance sees it. Outlives any call: who is called often and shortly times a lease all the same. */
export type LeaseSight = {
  /** As seen last; undefined: never. */
  watch(): LeaseWatch | undefined;
  /** Takes what an answer showed. */
  saw(watch: LeaseWatch): void;
  read(signal: AbortSignal): Promise<LeaseWatch>;
  /** The same for a lease that somebody holds. The leader's own word saves reads, as long as it gives it. */
  look(watch: LeaseWatch, signal: AbortSignal): Promise<LeaseWatch>;
  /** How long until it may be taken; 0 or less: now. */
  freeInMs(watch: LeaseWatch): number;
  /** This instance has ended a term of its own: it need not wait for that one's time. */
  ended(holder: string): void;
};

export function createLeaseSight(deps: SightDeps): LeaseSight {
  const { clock, finder, expires } = deps;
  let seen: LeaseWatch | undefined;
  let readAtMs = -Infinity;
  let endedHolder: string | undefined;

  const saw = (next: LeaseWatch): void => {
    seen = watchLease(seen, next.lease, next.sinceMs);
    const { lease } = next;
    if (lease === undefined || lease.holder === '') finder.forget();
    else finder.learn({ id: lease.broker, url: lease.url, epoch: lease.epoch });
  };

  async function read(signal: AbortSignal): Promise<LeaseWatch> {
    const { attemptMs } = leasePace(deps.leaseMs);
    const next = await within(clock, { ms: attemptMs }, (own) => readLease(deps, seen, own), signal);
    readAtMs = clock.monotonicMs();
    saw(next);
    return seen ?? next;
  }

  async function look(watch: LeaseWatch, signal: AbortSignal): Promise<LeaseWatch> {
    const isWordEnough = clock.monotonicMs() - readAtMs < LEASE_READ_MS;
    const answer = isWordEnough ? await askHolder(deps, watch.lease, signal) : undefined;
    const next = answer === undefined ? undefined : watchAnswer(watch, answer, clock.monotonicMs());
    if (next === undefined) return read(signal);
    saw(next);
    return next;
  }

  return {
    saw,
    read,
    look,
    watch: () => seen,
    ended: (holder) => void (endedHolder = holder),
    freeInMs(watch) {
      if (watch.lease !== undefined && watch.lease.holder === endedHolder) return 0;
      return takeableInMs(watch, { nowMs: clock.monotonicMs(), ...(expires ? { wallMs: clock.nowMs() } : {}) });
    },
  };
}

async function askHolder({ clock, self, askLeader }: SightDeps, lease: Lease | undefined, signal: AbortSignal): ReturnType<AskLeader> {
  if (askLeader === undefined || lease === undefined || lease.broker === self.id) return undefined;
  const { watchMs } = leasePace(lease.leaseMs);
  try {
    return await within(clock, { ms: watchMs }, (own) => askLeader({ id: lease.broker, url: lease.url }, own), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isTransient(error) || isTimeout(error)) return undefined;
    throw error;
  }
}

/** A bound of its own was over. */
export const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError';

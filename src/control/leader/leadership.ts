import type { BrokerAddress } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import { LEASE_MS, RETRY_AFTER_MS } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { Random } from '../../ports/random.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { orAbort } from '../../state/abortable.ts';
import type { LeaderFinder } from './find-leader.ts';
import { giveBack, type HeldLease, keepLease, type Term } from './held-lease.ts';
import { type AskLeader, createLeaseSight } from './lease-sight.ts';
import { waitForLease, type WaitDeps } from './wait-for-lease.ts';

export type { Term } from './held-lease.ts';

export type Leadership = {
  /** The term held now, with its version as renewed last. Looks at the clock: a term that is over is never answered. */
  current(): { readonly term: Term; readonly version: number } | undefined;
  /**
   * Waits for the lease, leads, renews, and waits again, until the signal aborts; then releases, which ignores the abort and
   * is bounded by LEASE_RELEASE_MS_MAX. `lead` has to end with its term. Ends it earlier, or fails: others get a chance.
   */
  run(lead: (term: Term) => Promise<void>, signal: AbortSignal): Promise<void>;
  /**
   * For an invocation: takes the lease when it may, runs, and releases whatever happens. Of several calls, one after the other:
   * they would only wait for each other's lease. Error `unavailable`/`no-lease` when the signal ends first, with its reason as
   * cause.
   */
  leadOnce<T>(fn: (term: Term) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Ends all calls of `leadOnce`, and has none any more; resolves once the lease is released, or was tried to be. */
  end(): Promise<void>;
};

export type LeadershipDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly self: BrokerAddress;
  readonly finder: LeaderFinder;
  readonly askLeader?: AskLeader;
  /** As of {@link WaitDeps}. */
  readonly isReachable?: (signal: AbortSignal) => Promise<boolean>;
  readonly leaseMs?: number;
  /** The lease is not renewed, and says in the table when it ends: for a function, which may be frozen or gone before. */
  readonly expires?: boolean;
};

export function createLeadership(given: LeadershipDeps): Leadership {
  const sightDeps = { ...given, leaseMs: given.leaseMs ?? LEASE_MS, expires: given.expires ?? false };
  const sight = createLeaseSight(sightDeps);
  const deps: WaitDeps = { ...sightDeps, sight, saw: sight.saw };
  let current: HeldLease | undefined;
  /** Over with the last call of `leadOnce`. */
  let calls: Promise<void> = Promise.resolve();
  const ending = new AbortController();

  async function leadTerm<T>(held: HeldLease, fn: (term: Term) => Promise<T>, signal: AbortSignal): Promise<T> {
    current = held;
    try {
      return await underLease(deps, held, fn, signal);
    } finally {
      // Another term may have begun while this one was released.
      if (current === held) current = undefined;
    }
  }

  async function leadAfter<T>(before: Promise<void>, fn: (term: Term) => Promise<T>, signal: AbortSignal): Promise<T> {
    const held = await orAbort(before, signal)
      .then(() => waitForLease(deps, signal))
      .catch((cause: unknown) => {
        throw new KelpError('unavailable', 'no-lease', 'another one leads', { cause, retryAfterMs: RETRY_AFTER_MS });
      });
    return leadTerm(held, fn, signal);
  }

  return {
    current: () => (current?.isValid() === true ? { term: current.term, version: current.holding().version } : undefined),
    async run(lead, signal) {
      while (!signal.aborted) {
        try {
          const held = await waitForLease(deps, signal);
          const wasOver = await leadTerm(held, (term) => leadUntilOver(deps, term, lead), signal);
          // It gave up by itself: whoever else waits shall have it.
          if (!wasOver) await deps.clock.sleep(deps.leaseMs, signal);
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      }
    },
    leadOnce(fn, signal) {
      const call = leadAfter(calls, fn, AbortSignal.any([signal, ending.signal]));
      // Nothing of a call is kept: an instance may make many.
      calls = Promise.allSettled([calls, call]).then(() => undefined);
      return call;
    },
    async end() {
      ending.abort(new KelpError('unavailable', 'stopping', 'this instance ends', { retryAfterMs: RETRY_AFTER_MS }));
      await calls;
    },
  };
}

/** Runs while the lease is kept; then releases it. */
async function underLease<T>(deps: WaitDeps, held: HeldLease, fn: (term: Term) => Promise<T>, signal: AbortSignal): Promise<T> {
  const { term } = held;
  const onAbort = (): void => held.end(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const kept = keepLease(deps, held);
  deps.telemetry.count('kelp.leader.terms', 1);
  deps.telemetry.adjust('kelp.leader', 1);
  deps.telemetry.log('info', 'leads', { epoch: term.epoch });
  try {
    signal.throwIfAborted();
    return await fn(term);
  } finally {
    signal.removeEventListener('abort', onAbort);
    held.end(new KelpError('unavailable', 'not-leader', 'it leads no more', { retryAfterMs: RETRY_AFTER_MS }));
    await kept;
    deps.telemetry.adjust('kelp.leader', -1);
    deps.telemetry.log('info', 'leads no more', { epoch: term.epoch, reason: String(term.signal.reason) });
    deps.sight.ended(held.holding().holder);
    if (held.mayStand()) await giveBack(deps, held.holding());
  }
}

/** Answers whether the term was over. Its failure ends the term, not the process: others may do better. */
async function leadUntilOver({ telemetry }: WaitDeps, term: Term, lead: (term: Term) => Promise<void>): Promise<boolean> {
  try {
    await lead(term);
  } catch (error) {
    if (term.signal.aborted && error === term.signal.reason) return true;
    telemetry.count('kelp.leader.failures', 1);
    telemetry.log('error', 'leading failed', { epoch: term.epoch, error: String(error) });
  }
  return term.signal.aborted;
}

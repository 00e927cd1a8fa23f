import { backoffMs } from '../../model/backoff.ts';
import { KelpError } from '../../model/errors.ts';
import type { BrokerId } from '../../model/ids.ts';
import { LEASE_RELEASE_MS_MAX, RETRY_AFTER_MS } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { type Holding, leasePace, type LeaseWatch, validForMs } from '../../protocol/lease.ts';
import { within } from '../../state/within.ts';
import { release, renew, type StepDeps } from './lease-steps.ts';

/** One time of leading. */
export type Term = {
  readonly epoch: number;
  /**
   * Aborts a margin before the lease's end, when it is lost, or given up. Each look at it looks at the clock: who was frozen
   * finds it aborted, though no timer has run yet.
   */
  readonly signal: AbortSignal;
  /** The broker whose lease was timed out, if that is how this term began. */
  readonly predecessor?: BrokerId;
};

export type HeldLease = {
  readonly term: Term;
  /** As last renewed. */
  holding(): Holding;
  /** Looks at the clock, and ends the term if it is over. Once over, always. */
  isValid(): boolean;
  /** How long the term lasts without another renewal. */
  leftMs(): number;
  /** Takes an answered renewal; undefined: the lease is somebody else's. */
  renewed(holding: Holding | undefined): void;
  /** Ends the term, with this reason for all that runs under its signal; the first one counts. */
  end(reason: unknown): void;
  /** Whether the lease may still stand in the table under this holder. */
  mayStand(): boolean;
};

const overNow = (why: string): KelpError => new KelpError('unavailable', 'not-leader', why, { retryAfterMs: RETRY_AFTER_MS });

export function holdLease(clock: Clock, taken: Holding): HeldLease {
  const over = new AbortController();
  let holding = taken;
  let stands = true;
  const leftMs = (): number => validForMs(holding, { nowMs: clock.monotonicMs(), wallMs: clock.nowMs() });
  const end = (reason: unknown): void => over.abort(reason);
  const isValid = (): boolean => {
    if (!over.signal.aborted && leftMs() <= 0) end(overNow('its term as leader is over'));
    return !over.signal.aborted;
  };
  const term: Term = {
    epoch: taken.epoch,
    get signal() {
      isValid();
      return over.signal;
    },
    ...(taken.predecessor === undefined ? {} : { predecessor: taken.predecessor }),
  };
  return {
    term,
    isValid,
    leftMs,
    end,
    holding: () => holding,
    mayStand: () => stands,
    renewed(next) {
      if (next === undefined) {
        stands = false;
        end(overNow('another one leads'));
        return;
      }
      // Answers come in any order. One that comes after the end does not bring the term back.
      if (!isValid()) return;
      const { version, sentMs } = holding;
      holding = { ...next, version: Math.max(version, next.version), sentMs: Math.max(sentMs, next.sentMs) };
    },
  };
}

export type KeepDeps = StepDeps & {
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** Told of the lease as answers show it. */
  readonly saw: (watch: LeaseWatch) => void;
};

/** Renews until the term is over; of a holder that doesn't renew, sees to its end. Never rejects. */
export async function keepLease(deps: KeepDeps, held: HeldLease): Promise<void> {
  const { leaseMs, expiresMs } = held.holding();
  const { renewMs, attemptMs } = leasePace(leaseMs);
  for (let failures = 0; held.isValid();) {
    const dueMs = renewMs - (deps.clock.monotonicMs() - held.holding().sentMs);
    const patienceMs = failures === 0 ? 0 : Math.min(attemptMs / 2, backoffMs(failures, deps.random.fraction()));
    const waitMs = expiresMs === undefined ? Math.max(dueMs, patienceMs) : Infinity;
    await sleepWithin(deps.clock, Math.min(waitMs, held.leftMs()), held);
    if (!held.isValid()) return;
    // An attempt that takes long goes on beside the next one: its answer may be the first to come.
    if (expiresMs === undefined) failures = (await isRenewed(deps, held, attemptMs / 2)) ? 0 : failures + 1;
  }
}

async function isRenewed(deps: KeepDeps, held: HeldLease, ms: number): Promise<boolean> {
  const { signal } = held.term;
  try {
    await within(deps.clock, { ms }, () => sendRenewal(deps, held), signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    deps.telemetry.count('kelp.leader.renewals.failed', 1);
    deps.telemetry.log('warn', 'the lease was not renewed', { epoch: held.term.epoch, error: String(error) });
    return false;
  }
}

async function sendRenewal(deps: KeepDeps, held: HeldLease): Promise<void> {
  const { watch, holding } = await renew(deps, held.holding(), held.term.signal);
  deps.saw(watch);
  held.renewed(holding);
}

async function sleepWithin(clock: Clock, ms: number, held: HeldLease): Promise<void> {
  const { signal } = held.term;
  await clock.sleep(Math.max(1, Math.ceil(ms)), signal).catch((reason: unknown) => {
    if (!signal.aborted) throw reason;
  });
}

/** Nobody's: whoever asked for a release may have gone. */
const nobody = new AbortController();

/**
 * One attempt, whatever became of the caller, so that the next one need not wait for the lease's end. Never rejects: a lease
 * that could not be released runs out.
 */
export async function giveBack(deps: KeepDeps, held: Pick<Holding, 'holder' | 'epoch'>): Promise<void> {
  try {
    deps.saw(await within(deps.clock, { ms: LEASE_RELEASE_MS_MAX }, (own) => release(deps, held, own), nobody.signal));
  } catch (error) {
    deps.telemetry.count('kelp.leader.releases.failed', 1);
    deps.telemetry.log('warn', 'the lease was not released, and runs out', { epoch: held.epoch, error: String(error) });
  }
}

import { backoffMs } from '../../model/backoff.ts';
import { LEASE_CLAIMS_MAX } from '../../model/limits.ts';
import { leasePace, type LeaseWatch } from '../../protocol/lease.ts';
import { isTransient } from '../../state/ask-again.ts';
import { within } from '../../state/within.ts';
import { giveBack, type HeldLease, holdLease, type KeepDeps } from './held-lease.ts';
import { isTimeout, type LeaseSight, type SightDeps } from './lease-sight.ts';
import { type Claim, foundClaim, type LeaseAnswer, openClaims, renew, sendClaim } from './lease-steps.ts';

export type WaitDeps = SightDeps &
  KeepDeps & {
    readonly sight: LeaseSight;
    /** Whether others can ask it, as far as is known; absent: they can. */
    readonly isReachable?: (signal: AbortSignal) => Promise<boolean>;
  };

const NONCE_LENGTH = 16;

/** `claims`: attempts that were not answered. `failures`: in a row. */
export type Wait = { claims: readonly Claim[]; failures: number };

/**
 * Resolves with the lease, as soon as it may be taken and is. Rejects with the signal's reason; what was sent by then is
 * given back.
 */
export async function waitForLease(deps: WaitDeps, signal: AbortSignal): Promise<HeldLease> {
  const wait: Wait = { claims: [], failures: 0 };
  try {
    for (;;) {
      signal.throwIfAborted();
      const held = await tryOnce(deps, wait, signal);
      if (held !== undefined) return held;
    }
  } catch (reason) {
    for (const { holder, seen } of wait.claims) await giveBack(deps, { holder, epoch: (seen?.epoch ?? 0) + 1 });
    throw reason;
  }
}

/** One look, and whatever it allows; else a pause. */
async function tryOnce(deps: WaitDeps, wait: Wait, signal: AbortSignal): Promise<HeldLease | undefined> {
  // Not in step with the others that wait.
  let pauseMs = leasePace(deps.leaseMs).watchMs * (0.8 + 0.2 * deps.random.fraction());
  try {
    const held = await look(deps, wait, signal);
    if (held !== undefined) return held;
    wait.failures = 0;
    const watch = deps.sight.watch();
    const freeInMs = watch === undefined ? 0 : deps.sight.freeInMs(watch);
    if (freeInMs > 0) pauseMs = Math.min(pauseMs, freeInMs);
  } catch (error) {
    signal.throwIfAborted();
    wait.failures += 1;
    pauseMs = Math.min(pauseMs, backoffMs(wait.failures, deps.random.fraction()));
    deps.telemetry.count('kelp.leader.waits.failed', 1);
    if (!isTransient(error) && !isTimeout(error)) {
      deps.telemetry.log('error', 'waiting for the lease failed', { error: String(error) });
    }
  }
  await deps.clock.sleep(Math.max(1, Math.ceil(pauseMs)), signal);
  return undefined;
}

/** What {@link tryOnce} tries. */
export async function look(deps: WaitDeps, wait: Wait, signal: AbortSignal): Promise<HeldLease | undefined> {
  const { sight } = deps;
  let watch = sight.watch();
  // What was sent and not answered is looked for before anything else is tried.
  if (watch === undefined || wait.claims.length > 0) watch = await sight.read(signal);
  else if (sight.freeInMs(watch) > 0) watch = await sight.look(watch, signal);
  wait.claims = openClaims(wait.claims, watch);
  const found = foundClaim(wait.claims, watch);
  // A claim that was done and never answered counts from a renewal that is.
  if (found !== undefined) return settle(deps, wait, (own) => renew(deps, found, own), signal);
  if (sight.freeInMs(watch) > 0 || !(await isItsTurn(deps, watch, signal))) return undefined;
  const claim = claimOver(deps, watch);
  wait.claims = [...wait.claims, claim].slice(-LEASE_CLAIMS_MAX);
  return settle(deps, wait, (own) => sendClaim(deps, claim, own), signal);
}

/** Whoever may be out of everybody's reach lets others go first, for one more lease: nobody could ask it anything. */
async function isItsTurn(deps: WaitDeps, watch: LeaseWatch, signal: AbortSignal): Promise<boolean> {
  if (watch.lease === undefined || deps.isReachable === undefined || (await deps.isReachable(signal))) return true;
  const heldMs = watch.lease.holder === '' ? 0 : watch.lease.leaseMs;
  return deps.clock.monotonicMs() - watch.sinceMs >= heldMs + deps.leaseMs;
}

async function settle(
  deps: WaitDeps,
  wait: Wait,
  write: (signal: AbortSignal) => Promise<LeaseAnswer>,
  signal: AbortSignal,
): Promise<HeldLease | undefined> {
  const { watch, holding } = await within(deps.clock, { ms: leasePace(deps.leaseMs).attemptMs }, write, signal);
  deps.saw(watch);
  wait.claims = openClaims(wait.claims, watch);
  if (holding === undefined) return undefined;
  wait.claims = [];
  const held = holdLease(deps.clock, holding);
  if (held.isValid()) return held;
  // It was frozen on the way, or the answer was: that term is over before it began.
  deps.sight.ended(holding.holder);
  return undefined;
}

function claimOver({ random, clock, self, leaseMs, expires }: WaitDeps, { lease }: LeaseWatch): Claim {
  // Of one that doesn't renew, the end says nothing about its broker.
  const wasTimedOut = lease !== undefined && lease.holder !== '' && lease.expiresMs === undefined && lease.broker !== self.id;
  return {
    holder: random.base36(NONCE_LENGTH),
    seen: lease,
    leaseMs,
    ...(expires ? { expiresMs: clock.nowMs() + leaseMs } : {}),
    ...(wasTimedOut ? { predecessor: lease.broker } : {}),
  };
}

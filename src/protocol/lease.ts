import { encodeLease } from '../format/lease-item.ts';
import type { BrokerAddress, Lease } from '../model/broker.ts';
import type { BrokerId } from '../model/ids.ts';
import { LEADER_WATCH_MS, LEASE_ATTEMPT_MS_MAX, LEASE_MARGIN_MS, LEASE_RENEW_MS } from '../model/limits.ts';
import type { Condition, Item, Update } from '../ports/metadata-table.ts';

// The leader's lease (L1). Safety never rests on it: two leaders at once cost work, and nothing else. In calm there is one.

/** One attempt to take the lease: a nonce of its own, so that it finds its own write after a lost answer. */
export type LeaseClaim = BrokerAddress & { readonly holder: string; readonly leaseMs: number; readonly expiresMs?: number };

/** Over exactly the lease that was read, epoch and version; a lease that was never there is put. */
export function takeLease(seen: Lease | undefined, claim: LeaseClaim): { readonly item: Item; readonly condition: Condition } {
  const { holder, id, url, leaseMs, expiresMs } = claim;
  const item = encodeLease({
    holder,
    broker: id,
    url,
    epoch: (seen?.epoch ?? 0) + 1,
    version: (seen?.version ?? 0) + 1,
    leaseMs,
    ...(expiresMs === undefined ? {} : { expiresMs }),
  });
  if (seen === undefined) return { item, condition: [{ op: 'missing', path: ['epoch'] }] };
  return {
    item,
    condition: [
      { op: '=', path: ['epoch'], value: seen.epoch },
      { op: '=', path: ['version'], value: seen.version },
    ],
  };
}

type Held = Pick<Lease, 'holder' | 'epoch'>;

/** Needs no version: a renewal whose answer was lost is followed by another one, and only an answered one counts. */
export function renewLease(held: Held): Update {
  return { condition: isHeld(held), changes: [{ op: 'add', path: ['version'], value: 1 }] };
}

/** The item stays: an epoch is never used again. */
export function releaseLease(held: Held): Update {
  return {
    condition: isHeld(held),
    changes: [
      { op: 'set', path: ['holder'], value: '' },
      { op: 'add', path: ['version'], value: 1 },
    ],
  };
}

function isHeld({ holder, epoch }: Held): Condition {
  return [
    { op: '=', path: ['epoch'], value: epoch },
    { op: '=', path: ['holder'], value: holder },
  ];
}

/** A lease that this instance has, and what it may believe of it. Monotonic times are the instance's own. */
export type Holding = Held & {
  /** As its last answered write left it. */
  readonly version: number;
  readonly leaseMs: number;
  /** When the last write that was answered was sent; −∞: none was, and it counts for nothing yet. */
  readonly sentMs: number;
  readonly expiresMs?: number;
  /** Whose lease was timed out, if that is how this one began. */
  readonly predecessor?: BrokerId;
};

/** A clock that never goes back, and the wall clock. */
export type LeaseTimes = { readonly nowMs: number; readonly wallMs: number };

/**
 * How long the holder may still act. It counts from the *sending* of its write: whoever waits counts from an answer, which
 * comes later. A holder that doesn't renew may have been frozen together with its monotonic clock: the wall clock counts, too.
 */
export function validForMs(holding: Pick<Holding, 'sentMs' | 'leaseMs' | 'expiresMs'>, times: LeaseTimes): number {
  const { sentMs, leaseMs, expiresMs = Infinity } = holding;
  return Math.min(leaseMs - (times.nowMs - sentMs), expiresMs - times.wallMs) - leasePace(leaseMs).marginMs;
}

/** What a waiter has seen, and for how long: `sinceMs` is its own monotonic time at the answer of the first read that showed this version. */
export type LeaseWatch = { readonly lease: Lease | undefined; readonly sinceMs: number };

/** The watch after a read that was answered at `nowMs`: an unchanged version goes on being timed. */
export function watchLease(before: LeaseWatch | undefined, lease: Lease | undefined, nowMs: number): LeaseWatch {
  const same = before !== undefined && before.lease?.epoch === lease?.epoch && before.lease?.version === lease?.version;
  return { lease, sinceMs: same ? before.sinceMs : nowMs };
}

/**
 * The same by the holder's own word, which is as good as a read: what it says that it holds was written before. Undefined:
 * it speaks of another epoch than was read. An older version than was read is no news, and no sign of life either.
 */
export function watchAnswer(before: LeaseWatch, answer: Pick<Lease, 'epoch' | 'version'>, nowMs: number): LeaseWatch | undefined {
  const { lease } = before;
  if (lease === undefined || lease.epoch !== answer.epoch) return undefined;
  return answer.version < lease.version ? before : watchLease(before, { ...lease, version: answer.version }, nowMs);
}

/** `wallMs`: of a waiter that may live shorter than a lease, and can't time one. All others leave it out: wall clocks jump. */
export type WaiterTimes = { readonly nowMs: number; readonly wallMs?: number };

/**
 * How long until this waiter may take it; 0 or less: now. Nobody holds it; or its version has stood still for a full lease
 * of its holder, which may be longer than the waiter's own; or, of a holder that does not renew, for a waiter that lives
 * shorter than that: its time is over by the wall clock, and a margin for clocks that differ.
 */
export function takeableInMs({ lease, sinceMs }: LeaseWatch, { nowMs, wallMs }: WaiterTimes): number {
  if (lease === undefined || lease.holder === '') return 0;
  const standsMs = lease.leaseMs - (nowMs - sinceMs);
  if (lease.expiresMs === undefined || wallMs === undefined) return standsMs;
  return Math.min(standsMs, lease.expiresMs + LEASE_MARGIN_MS - wallMs);
}

export const mayTake = (watch: LeaseWatch, times: WaiterTimes): boolean => takeableInMs(watch, times) <= 0;

/** How a lease of this length is kept and watched: as the limits say for a process's, faster for a shorter one. */
export function leasePace(leaseMs: number): LeasePace {
  return {
    marginMs: Math.min(LEASE_MARGIN_MS, leaseMs / 6),
    renewMs: Math.min(LEASE_RENEW_MS, leaseMs / 2),
    watchMs: Math.min(LEADER_WATCH_MS, leaseMs / 6),
    attemptMs: Math.min(LEASE_ATTEMPT_MS_MAX, leaseMs / 3),
  };
}

export type LeasePace = {
  /** A holder stops so much before its lease ends. */
  readonly marginMs: number;
  /** From the sending of one renewal to the next. */
  readonly renewMs: number;
  /** Longest pause between two looks of a waiter. */
  readonly watchMs: number;
  /** How long one attempt at the table may take. */
  readonly attemptMs: number;
};

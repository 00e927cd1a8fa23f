import { encodeLease } from '../format/lease-item.ts';
import type { BrokerAddress, Lease } from '../model/broker.ts';
import type { Condition, Item, Update } from '../ports/metadata-table.ts';

// The leader's lease (L1). Safety never rests on it: two leaders at once cost work, and nothing else. In calm there is one.

/** One attempt to take the lease: a nonce of its own, so that it finds its own write after a lost answer. */
export type LeaseClaim = BrokerAddress & { readonly holder: string; readonly expiresMs?: number };

/** Over exactly the lease that was read, epoch and version; a lease that was never there is put. */
export function takeLease(seen: Lease | undefined, claim: LeaseClaim): { readonly item: Item; readonly condition: Condition } {
  const { holder, id, url, expiresMs } = claim;
  const item = encodeLease({
    holder,
    broker: id,
    url,
    epoch: (seen?.epoch ?? 0) + 1,
    version: (seen?.version ?? 0) + 1,
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

/** What a waiter has seen, and for how long: `sinceMs` is its own monotonic time at the answer of the first read that showed this version. */
export type LeaseWatch = { readonly lease: Lease | undefined; readonly sinceMs: number };

/** The watch after a read that was answered at `nowMs`: an unchanged version goes on being timed. */
export function watchLease(before: LeaseWatch | undefined, lease: Lease | undefined, nowMs: number): LeaseWatch {
  const same = before !== undefined && before.lease?.epoch === lease?.epoch && before.lease?.version === lease?.version;
  return { lease, sinceMs: same ? before.sinceMs : nowMs };
}

/**
 * Whether it may be taken: nobody holds it; its version has stood still for a full lease; or, of a holder that lives shorter
 * than that, its own time is over by the wall clock, and a margin for clocks that differ.
 */
export function mayTake(
  watch: LeaseWatch,
  times: { readonly nowMs: number; readonly wallMs: number; readonly leaseMs: number; readonly marginMs: number },
): boolean {
  const { lease } = watch;
  if (lease === undefined || lease.holder === '') return true;
  if (times.nowMs - watch.sinceMs >= times.leaseMs) return true;
  return lease.expiresMs !== undefined && times.wallMs >= lease.expiresMs + times.marginMs;
}

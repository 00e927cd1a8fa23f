import { leaseKey } from '../../format/item-key.ts';
import { decodeLease } from '../../format/lease-item.ts';
import type { BrokerAddress, Lease } from '../../model/broker.ts';
import type { BrokerId } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Item, MetadataTable } from '../../ports/metadata-table.ts';
import { type Holding, type LeaseWatch, releaseLease, renewLease, takeLease, watchLease } from '../../protocol/lease.ts';

// The requests about the lease: each is one request, takes plain values and gives plain values. What they are in order of is
// waited for in wait-for-lease.ts and kept in held-lease.ts.

export type StepDeps = { readonly table: MetadataTable; readonly clock: Clock };

/** An attempt to take the lease over the one that was seen. It may be done though it was never answered. */
export type Claim = {
  readonly holder: string;
  readonly seen: Lease | undefined;
  readonly leaseMs: number;
  readonly expiresMs?: number;
  /** Whose lease is timed out by it. */
  readonly predecessor?: BrokerId;
};

/** What an answered write says: the lease as it stands, and what this instance has of it; undefined: it is not, or no longer, its own. */
export type LeaseAnswer = { readonly watch: LeaseWatch; readonly holding: Holding | undefined };

/** The time counts from the answer: what is read may be as old as the request. */
export async function readLease(deps: StepDeps, watch: LeaseWatch | undefined, signal: AbortSignal): Promise<LeaseWatch> {
  const item = await deps.table.get(leaseKey(), signal);
  return watchLease(watch, leaseIn(item), deps.clock.monotonicMs());
}

export async function sendClaim(
  deps: StepDeps & { readonly self: BrokerAddress },
  claim: Claim,
  signal: AbortSignal,
): Promise<LeaseAnswer> {
  const sentMs = deps.clock.monotonicMs();
  const { item, condition } = takeLease(claim.seen, { ...deps.self, ...claim });
  const result = await deps.table.put(leaseKey(), item, condition, signal);
  const watch = watchLease(undefined, leaseIn(result.item), deps.clock.monotonicMs());
  return { watch, holding: result.applied ? holdingOf(claim, watch.lease, sentMs) : undefined };
}

/** What a claim came to whose answer was lost, if the lease is its own: nothing before a renewal of it is answered. */
export function foundClaim(claims: readonly Claim[], { lease }: LeaseWatch): Holding | undefined {
  const claim = claims.find(({ holder }) => holder === lease?.holder);
  return claim === undefined ? undefined : holdingOf(claim, lease, -Infinity);
}

/** Claims that may still be done: their lease stands, or is as they have seen it. */
export function openClaims(claims: readonly Claim[], { lease }: LeaseWatch): Claim[] {
  return claims.filter(
    ({ holder, seen }) => holder === lease?.holder || (seen?.epoch === lease?.epoch && seen?.version === lease?.version),
  );
}

export async function renew(deps: StepDeps, holding: Holding, signal: AbortSignal): Promise<LeaseAnswer> {
  const sentMs = deps.clock.monotonicMs();
  const result = await deps.table.update(leaseKey(), renewLease(holding), signal);
  const watch = watchLease(undefined, leaseIn(result.item), deps.clock.monotonicMs());
  return { watch, holding: result.applied && watch.lease !== undefined ? { ...holding, version: watch.lease.version, sentMs } : undefined };
}

/** By epoch and holder: the lease of whoever has taken it since stays as it is. */
export async function release(deps: StepDeps, held: Pick<Holding, 'holder' | 'epoch'>, signal: AbortSignal): Promise<LeaseWatch> {
  const result = await deps.table.update(leaseKey(), releaseLease(held), signal);
  return watchLease(undefined, leaseIn(result.item), deps.clock.monotonicMs());
}

function holdingOf(claim: Claim, lease: Lease | undefined, sentMs: number): Holding | undefined {
  if (lease === undefined) return undefined;
  const { holder, leaseMs, expiresMs, predecessor } = claim;
  return {
    holder,
    epoch: lease.epoch,
    version: lease.version,
    leaseMs,
    sentMs,
    ...(expiresMs === undefined ? {} : { expiresMs }),
    ...(predecessor === undefined ? {} : { predecessor }),
  };
}

const leaseIn = (item: Item | undefined): Lease | undefined => (item === undefined ? undefined : decodeLease(item));

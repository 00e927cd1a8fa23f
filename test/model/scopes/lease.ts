import type { LeaseScope } from '../engine/lease-space.ts';

/**
 * Several who want to lead, each at its own pace, with clocks that run alike and show anything. `expires`: some of them
 * live shorter than a lease, and go by wall clocks, which may be off by `skewMs`.
 */
export function lease(size: {
  readonly contenders: number;
  readonly endMs: number;
  readonly leaseMs: number;
  readonly claims: number;
  readonly expires: number;
  readonly skewMs: number;
  readonly sameBroker?: boolean;
  readonly nonces?: boolean;
  readonly unanswered: number;
  readonly late: number;
}): LeaseScope {
  const { contenders, endMs, leaseMs, claims, expires, skewMs, sameBroker = false, nonces = true } = size;
  return {
    contenders: ['A', 'B', 'C'].slice(0, contenders).map((name, index) => ({
      name,
      broker: sameBroker ? 'b' : `b${name}`,
      startMs: 1_000 * index,
      skewMs: index * skewMs,
      leaseMs,
      expires: index < expires,
      claimsMax: claims,
      nonces,
    })),
    endMs,
    budgets: size,
  };
}

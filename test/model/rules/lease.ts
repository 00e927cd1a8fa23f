import type { Rule } from './rule.ts';

// The leader's lease.

const LEASE = 'protocol/lease.ts';
const STEPS = 'control/leader/lease-steps.ts';
const SENT = 'const sentMs = deps.clock.monotonicMs();';

export const leaseRules: readonly Rule[] = [
  {
    row: 'L1 sending, taken',
    without: 'a lease that is taken is valid from the sending of the write',
    patches: [
      {
        file: STEPS,
        from: 'holding: result.applied ? holdingOf(claim, watch.lease, sentMs) : undefined',
        to: 'holding: result.applied ? holdingOf(claim, watch.lease, Math.max(sentMs, deps.clock.monotonicMs())) : undefined',
      },
    ],
    search: 'lease',
    faults: ['two-leaders'],
  },
  {
    row: 'L1 sending, renewed',
    without: 'a lease that is renewed is valid from the sending of the renewal',
    patches: [
      {
        file: STEPS,
        from: '{ ...holding, version: watch.lease.version, sentMs }',
        to: '{ ...holding, version: watch.lease.version, sentMs: Math.max(sentMs, deps.clock.monotonicMs()) }',
      },
    ],
    search: 'lease',
    size: { leaseMs: 4, endMs: 6 },
    faults: ['two-leaders'],
  },
  {
    row: 'L1 answer',
    without: 'a waiter times a version from the answer of its read',
    patches: [
      {
        file: STEPS,
        from: 'const item = await deps.table.get(leaseKey(), signal);',
        to: `${SENT}\n  const item = await deps.table.get(leaseKey(), signal);`,
      },
      {
        file: STEPS,
        from: 'return watchLease(watch, leaseIn(item), deps.clock.monotonicMs());',
        to: 'return watchLease(watch, leaseIn(item), sentMs);',
      },
    ],
    search: 'lease',
    faults: ['two-leaders'],
  },
  {
    row: 'L1 adopted',
    without: 'a claim whose answer was lost counts from a renewal only',
    patches: [
      {
        file: 'control/leader/wait-for-lease.ts',
        from: 'if (found !== undefined) return settle(deps, wait, (own) => renew(deps, found, own), signal);',
        to: 'if (found !== undefined) return holdLease(deps.clock, { ...found, sentMs: deps.clock.monotonicMs() });',
      },
    ],
    search: 'lease',
    size: { unanswered: 1 },
    faults: ['two-leaders'],
  },
  {
    row: 'L1 standing still',
    without: 'only a version that has not moved for a full lease is timed out',
    patches: [{ file: LEASE, from: 'before.lease?.version === lease?.version', to: 'true' }],
    search: 'lease',
    faults: ['two-leaders'],
  },
  {
    row: 'L1 version',
    without: 'a lease is taken only over the version that was read',
    patches: [{ file: LEASE, from: "{ op: '=', path: ['version'], value: seen.version },", to: '' }],
    search: 'lease',
    faults: ['two-leaders'],
  },
  {
    row: 'L1 epoch',
    without: 'a lease is taken only over the epoch, or version, that was read',
    patches: [
      { file: LEASE, from: "{ op: '=', path: ['epoch'], value: seen.epoch },", to: '' },
      { file: LEASE, from: "{ op: '=', path: ['version'], value: seen.version },", to: '' },
    ],
    search: 'lease',
    faults: ['two-leaders'],
  },
  {
    row: 'L1 nonce',
    without: 'each attempt to take the lease has a nonce of its own',
    patches: [],
    search: 'lease',
    size: { sameBroker: true, nonces: false, unanswered: 1 },
    faults: ['two-leaders'],
  },
  {
    row: 'L1 holder',
    without: 'a renewal demands epoch and nonce',
    patches: [
      { file: LEASE, from: "{ op: '=', path: ['epoch'], value: epoch },", to: '' },
      { file: LEASE, from: "{ op: '=', path: ['holder'], value: holder },", to: '' },
    ],
    search: 'lease',
    size: { unanswered: 1 },
    faults: ['two-leaders'],
  },
  {
    row: 'L1 deleted',
    without: 'the lease is never deleted',
    patches: [
      {
        file: STEPS,
        from: 'const result = await deps.table.update(leaseKey(), releaseLease(held), signal);',
        to: 'const result = await deps.table.delete(leaseKey(), releaseLease(held).condition, signal).then((done) => ({ item: done.applied ? undefined : done.item }));',
      },
    ],
    search: 'lease',
    size: { claims: 2, endMs: 3 },
    faults: ['two-leaders'],
  },
  {
    row: 'L1 margin',
    without: 'who goes by an expiry time waits a margin longer',
    patches: [{ file: LEASE, from: 'lease.expiresMs + LEASE_MARGIN_MS - wallMs', to: 'lease.expiresMs - wallMs' }],
    search: 'leaseExpires',
    faults: ['two-leaders'],
  },
];

import type { Search } from './search.ts';

// The leader's lease. A millisecond is a tick of the search's clock: requests take any number of them, and so do pauses.

const CALM = { contenders: 2, endMs: 4, leaseMs: 2, claims: 1, expires: 0, skewMs: 0, unanswered: 0, late: 0 };

export const leaseSearches: readonly Search[] = [
  {
    name: 'lease',
    rows: 'L1',
    file: 'lease',
    scope: 'lease',
    small: CALM,
    large: [
      { ...CALM, endMs: 7, leaseMs: 4 },
      { ...CALM, claims: 2 },
      { ...CALM, contenders: 3, endMs: 3 },
    ],
  },
  {
    name: 'leaseLost',
    rows: 'L1: lost and late answers',
    file: 'lease',
    scope: 'lease',
    small: { ...CALM, endMs: 3, unanswered: 1 },
    large: [
      { ...CALM, endMs: 4, unanswered: 1, late: 1 },
      { ...CALM, endMs: 6, leaseMs: 4, unanswered: 1 },
    ],
  },
  {
    name: 'leaseExpires',
    rows: 'L1: functions, whose wall clocks differ',
    file: 'lease',
    scope: 'lease',
    small: { ...CALM, expires: 2, skewMs: 1 },
    large: [
      { ...CALM, expires: 2, skewMs: 1, unanswered: 1, late: 1 },
      { ...CALM, expires: 1, skewMs: 1, unanswered: 1 },
      { ...CALM, contenders: 3, endMs: 2, expires: 2, skewMs: 1 },
    ],
    limits: { LEASE_MARGIN_MS: 1 },
  },
];

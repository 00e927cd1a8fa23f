import type { Search } from './search.ts';

// Uploads: submitted by several at once, under a key or without, beside sweeps and seals.

const uploads = { file: 'uploads', scope: 'uploads', limits: { MOVES_MAX: 2, CLAIM_LOOKS_MAX: 4 } };

export const uploadsSearches: readonly Search[] = [
  {
    ...uploads,
    name: 'uploadsTwice',
    rows: 'U1, K1',
    small: { alone: 2, keyed: 0, unanswered: 1, late: 1 },
    large: [{ alone: 2, keyed: 0, spillers: 1, unanswered: 1, late: 1 }],
  },
  {
    ...uploads,
    name: 'uploadsKeyed',
    rows: 'U1, I1, K2',
    small: { alone: 0, keyed: 2, unanswered: 1, late: 1 },
    large: [
      { alone: 0, keyed: 2, sealers: 1, unanswered: 0, late: 1 },
      { alone: 0, keyed: 2, sealers: 1, unanswered: 1, late: 0 },
    ],
  },
  {
    ...uploads,
    name: 'uploadsLostKeyed',
    rows: 'U1, I1, K2',
    small: { alone: 1, keyed: 1, unanswered: 0, late: 1 },
    large: [{ alone: 1, keyed: 1, unanswered: 1, late: 1 }],
  },
  {
    ...uploads,
    name: 'uploadsDue',
    rows: 'U1, U3',
    small: { alone: 1, keyed: 0, due: 2, unanswered: 1, late: 1 },
    large: [
      { alone: 1, keyed: 0, due: 2, spillers: 1, unanswered: 1, late: 1 },
      { alone: 1, keyed: 0, due: 2, stale: 1, unanswered: 1, late: 0 },
    ],
  },
  {
    ...uploads,
    name: 'uploadsStale',
    rows: 'U1, U3',
    small: { alone: 1, keyed: 0, stale: 2, unanswered: 1, late: 1 },
    large: [{ alone: 2, keyed: 0, stale: 1, unanswered: 0, late: 0 }],
  },
  {
    ...uploads,
    name: 'uploadsLate',
    rows: 'U1: clocks that differ',
    small: { alone: 2, keyed: 0, fastClock: true, unanswered: 1, late: 1 },
    large: [{ alone: 2, keyed: 0, fastClock: true, spillers: 1, unanswered: 1, late: 1 }],
  },
  {
    ...uploads,
    name: 'uploadsGiveUp',
    rows: 'U1, K1: throttled writes, failed reads, callers that leave',
    small: { alone: 2, keyed: 0, unanswered: 0, late: 1, failures: 1, aborts: 1 },
    large: [{ alone: 2, keyed: 0, unanswered: 1, late: 0, failures: 1, aborts: 1 }],
  },
];

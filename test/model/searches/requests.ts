import type { Search } from './search.ts';

// Whole requests: placed, moved after a seal, repeated under a key.

export const requestsSearches: readonly Search[] = [
  {
    name: 'sealedUnderfoot',
    rows: 'A6',
    file: 'requests',
    scope: 'sealedUnderfoot',
    small: { sealers: 1, spillers: 1, both: false, unanswered: 2, late: 2 },
    large: [{ sealers: 1, spillers: 1, both: true, unanswered: 1, late: 1 }],
  },
  {
    name: 'tailPlaced',
    rows: 'A6, K1',
    file: 'requests',
    scope: 'sealedUnderfoot',
    small: { sealers: 1, spillers: 1, both: false, others: 1, expected: 1, unanswered: 1, late: 1 },
    large: [{ sealers: 1, spillers: 1, both: false, others: 2, expected: 1, unanswered: 1, late: 2 }],
  },
  {
    name: 'floors',
    rows: 'A6, the floor',
    file: 'requests',
    scope: 'sealedUnderfoot',
    small: { sealers: 1, spillers: 1, both: false, floor: true, unanswered: 1, late: 1 },
    large: [{ sealers: 1, spillers: 1, both: false, floor: true, unanswered: 2, late: 2 }],
  },
  {
    name: 'floorsKeyed',
    rows: 'I1, the floor',
    file: 'requests',
    scope: 'idempotent',
    small: { handlers: 2, spillers: 0, others: 0, sealers: 0, floor: true, unanswered: 1, late: 1 },
    large: [{ handlers: 2, spillers: 1, others: 1, sealers: 0, floor: true, unanswered: 1, late: 1 }],
  },
  {
    name: 'idempotent',
    rows: 'I1',
    file: 'requests',
    scope: 'idempotent',
    small: { handlers: 2, spillers: 1, others: 1, sealers: 0, unanswered: 1, late: 1 },
    large: [{ handlers: 2, spillers: 1, others: 1, sealers: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'idempotentTail',
    rows: 'K1, K2',
    file: 'requests',
    scope: 'idempotent',
    small: { handlers: 2, spillers: 0, others: 1, sealers: 0, expected: 1, unanswered: 1, late: 1 },
    large: [{ handlers: 2, spillers: 1, others: 1, sealers: 0, expected: 1, unanswered: 1, late: 1 }],
    limits: { MOVES_MAX: 1 },
  },
  {
    name: 'recorded',
    rows: 'I1',
    file: 'requests',
    scope: 'recorded',
    small: { unanswered: 2, late: 2 },
    large: [{ unanswered: 2, late: 2 }],
  },
  {
    name: 'giveUpSealed',
    rows: 'A6',
    file: 'requests',
    scope: 'sealedUnderfoot',
    small: { sealers: 1, spillers: 0, both: false, unanswered: 1, late: 1, failures: 2, aborts: 1 },
    large: [{ sealers: 1, spillers: 0, both: true, unanswered: 1, late: 1, failures: 1, aborts: 1 }],
  },
  {
    name: 'giveUpKeyed',
    rows: 'I1, K2',
    file: 'requests',
    scope: 'idempotent',
    small: { handlers: 2, spillers: 0, others: 0, sealers: 0, unanswered: 1, late: 1, failures: 2, aborts: 1 },
    large: [{ handlers: 2, spillers: 1, others: 1, sealers: 0, unanswered: 1, late: 1, failures: 2, aborts: 1 }],
  },
];

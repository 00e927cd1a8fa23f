import type { Search } from './search.ts';

// Producers and groups.

export const linesSearches: readonly Search[] = [
  {
    name: 'variants',
    rows: 'A7, A8',
    file: 'lines',
    scope: 'variants',
    small: { spillers: 1, unanswered: 2, late: 2 },
    large: [{ spillers: 2, unanswered: 2, late: 2 }],
  },
  {
    name: 'variantsTwice',
    rows: 'A8',
    file: 'lines',
    scope: 'variants',
    small: { spillers: 0, unanswered: 1, late: 1, twice: true, seals: true },
    large: [
      { spillers: 1, unanswered: 2, late: 2, twice: true, seals: true },
      { spillers: 1, unanswered: 2, late: 2, twice: true, later: true },
    ],
  },
  {
    name: 'evictions',
    rows: 'P2',
    file: 'lines',
    scope: 'evictions',
    small: { begun: false, known: true, others: 1, later: true, unanswered: 1, late: 1 },
    large: [{ begun: false, known: false, others: 1, later: true, unanswered: 1, late: 2 }],
    limits: { HEAD_LINES_MAX: 1, HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'evictionsBegun',
    rows: 'P3',
    file: 'lines',
    scope: 'evictions',
    small: { begun: true, known: false, others: 2, later: false, unanswered: 0, late: 1 },
    large: [
      { begun: true, known: false, others: 2, later: false, unanswered: 1, late: 1 },
      { begun: true, known: false, others: 1, later: true, unanswered: 1, late: 2 },
    ],
    limits: { HEAD_LINES_MAX: 1, HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'epochs',
    rows: 'P2, P3 (fencing)',
    file: 'lines',
    scope: 'epochs',
    small: { others: 1, spillers: 0, unanswered: 0, late: 1 },
    large: [{ others: 1, spillers: 0, unanswered: 1, late: 2 }],
    limits: { HEAD_LINES_MAX: 1, HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'lineEnds',
    rows: 'P1',
    file: 'lines',
    scope: 'lineEnds',
    small: { unanswered: 1, late: 2 },
    large: [{ unanswered: 2, late: 2 }],
    limits: { HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'linesMerge',
    rows: 'P1 (merges)',
    file: 'lines',
    scope: 'linesMerge',
    small: { batches: 1, unanswered: 1, late: 1 },
    large: [{ batches: 2, unanswered: 1, late: 1 }],
    limits: { HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'giveUpLine',
    rows: 'A8, P2',
    file: 'lines',
    scope: 'variants',
    small: { spillers: 0, unanswered: 1, late: 1, failures: 1, aborts: 1, twice: true },
    large: [{ spillers: 1, unanswered: 1, late: 1, failures: 1, aborts: 1, twice: true, seals: true }],
    limits: { THROTTLED_LOOK_FROM: 1 },
  },
];

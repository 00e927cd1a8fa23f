import type { Search } from './search.ts';

// Readers of a whole topic.

export const lineageSearches: readonly Search[] = [
  {
    name: 'splitAndMerged',
    rows: 'C1',
    file: 'lineage',
    scope: 'splitAndMerged',
    small: { readers: 2, pages: 6, publishes: false, empty: false, unanswered: 0, late: 0 },
    large: [{ readers: 2, pages: 7, publishes: true, empty: true, unanswered: 0, late: 0 }],
  },
  {
    name: 'readThroughSeal',
    rows: 'C1',
    file: 'lineage',
    scope: 'readThroughSeal',
    small: { pages: 3, unanswered: 0, late: 0 },
    large: [{ pages: 4, unanswered: 1, late: 1 }],
  },
  {
    name: 'readThroughMerge',
    rows: 'C1 (merges)',
    file: 'lineage',
    scope: 'readThroughMerge',
    small: { pages: 5, turn: 2, unanswered: 0, late: 0 },
    large: [{ pages: 6, turn: 0, unanswered: 1, late: 1 }],
  },
  {
    name: 'mergedAndSplit',
    rows: 'C1 (merges)',
    file: 'lineage',
    scope: 'mergedAndSplit',
    small: { pages: 6, unanswered: 0, late: 0 },
    large: [{ pages: 7, unanswered: 0, late: 0 }],
  },
  {
    name: 'latest',
    rows: 'C2',
    file: 'lineage',
    scope: 'latest',
    small: { pages: 2, unanswered: 1, late: 1 },
    large: [{ pages: 2, unanswered: 1, late: 1 }],
  },
];

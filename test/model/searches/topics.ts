import type { Search } from './search.ts';

// Topology changes.

export const topicsSearches: readonly Search[] = [
  {
    name: 'changes',
    rows: 'T1, T2',
    file: 'topics',
    scope: 'changes',
    small: { children: 1, carriers: 0, publishers: 0, unanswered: 1, late: 1 },
    large: [{ children: 1, carriers: 0, publishers: 1, unanswered: 2, late: 2 }],
  },
  {
    name: 'splits',
    rows: 'T1, T2',
    file: 'topics',
    scope: 'changes',
    small: { children: 2, carriers: 0, publishers: 0, unanswered: 0, late: 0 },
    large: [
      { children: 2, carriers: 0, publishers: 0, unanswered: 0, late: 1 },
      { children: 2, carriers: 0, publishers: 0, unanswered: 1, late: 0 },
    ],
  },
  {
    name: 'childOpens',
    rows: 'T3',
    file: 'topics',
    scope: 'childOpens',
    small: { parents: 2, carriers: 0, unanswered: 0, late: 1 },
    large: [
      { parents: 2, carriers: 0, unanswered: 1, late: 1 },
      { parents: 2, carriers: 1, unanswered: 0, late: 0 },
    ],
  },
  {
    name: 'deletion',
    rows: 'T4',
    file: 'topics',
    scope: 'deletion',
    small: { carriers: 0, deleters: 1, unanswered: 0, late: 1 },
    large: [
      { carriers: 0, deleters: 1, unanswered: 1, late: 1 },
      { carriers: 1, deleters: 1, unanswered: 0, late: 1 },
    ],
  },
  {
    name: 'creation',
    rows: 'creation (F30)',
    file: 'topics',
    scope: 'creation',
    small: { creators: 2, deleters: 0, unanswered: 1, late: 1 },
    large: [
      { creators: 1, deleters: 1, unanswered: 1, late: 1 },
      { creators: 2, deleters: 1, unanswered: 0, late: 1 },
    ],
  },
];

import type { Search } from './search.ts';

// Fail-over and drain.

export const movesSearches: readonly Search[] = [
  {
    name: 'moves',
    rows: 'T1, T2, F8, F28: two leaders at once',
    file: 'moves',
    scope: 'moves',
    small: { segments: 1, leaders: 2, carriers: 0, publishers: 1, pages: 0, unanswered: 0, late: 0 },
    large: [
      { segments: 1, leaders: 2, carriers: 0, publishers: 1, pages: 0, unanswered: 0, late: 1 },
      { segments: 1, leaders: 2, carriers: 0, publishers: 1, pages: 0, unanswered: 1, late: 0 },
    ],
  },
  {
    name: 'movesBatch',
    rows: 'T2, T3, F28: several changes with one write',
    file: 'moves',
    scope: 'moves',
    small: { segments: 2, leaders: 1, carriers: 0, publishers: 2, pages: 0, unanswered: 0, late: 0 },
    large: [
      { segments: 2, leaders: 1, carriers: 0, publishers: 2, pages: 0, unanswered: 0, late: 1 },
      { segments: 2, leaders: 1, carriers: 1, publishers: 1, pages: 0, unanswered: 0, late: 0 },
      { segments: 2, leaders: 2, carriers: 0, publishers: 1, pages: 0, unanswered: 0, late: 0 },
    ],
    limits: { CHANGE_PARALLEL_MAX: 1 },
  },
  {
    name: 'movesOrder',
    rows: 'T3',
    file: 'topics',
    scope: 'childOpens',
    small: { parents: 1, carriers: 0, unanswered: 0, late: 1 },
    large: [{ parents: 1, carriers: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'movesRead',
    rows: 'C1: readers through a fail-over',
    file: 'moves',
    scope: 'moves',
    small: { segments: 1, leaders: 1, carriers: 0, publishers: 1, pages: 3, unanswered: 0, late: 0 },
    large: [
      { segments: 1, leaders: 1, carriers: 0, publishers: 2, pages: 3, unanswered: 0, late: 0 },
      { segments: 1, leaders: 2, carriers: 0, publishers: 1, pages: 3, unanswered: 0, late: 0 },
    ],
  },
  {
    name: 'assignments',
    rows: 'F8: who serves a segment is decided once',
    file: 'moves',
    scope: 'assignments',
    small: { assigners: 2, leaders: 1, publishers: 0, unanswered: 0, late: 1 },
    large: [
      { assigners: 2, leaders: 1, publishers: 0, unanswered: 1, late: 1 },
      { assigners: 3, leaders: 1, publishers: 0, unanswered: 0, late: 0 },
    ],
  },
  {
    name: 'leaving',
    rows: 'F8: what a list of segments says',
    file: 'moves',
    scope: 'leaving',
    small: { leavers: 1, moves: true, assigns: true, unanswered: 0, late: 0 },
    large: [{ leavers: 1, moves: true, assigns: true, unanswered: 0, late: 1 }],
    limits: { CHANGE_PARALLEL_MAX: 1, MOVES_READ_PARALLEL_MAX: 1 },
  },
];

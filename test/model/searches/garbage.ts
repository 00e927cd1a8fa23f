import type { Search } from './search.ts';

// Batch objects that nobody needs go, and no other ones.

const garbage = { file: 'garbage', scope: 'garbage', limits: { GARBAGE_SEGMENTS_PARALLEL_MAX: 1, CHANGE_ATTEMPTS_MAX: 2 } };

export const garbageSearches: readonly Search[] = [
  {
    ...garbage,
    name: 'garbage',
    rows: 'G2',
    small: { writers: 1, heirs: 0, leaders: 0, spillers: 1, sweepers: 1, unanswered: 1, late: 1 },
    large: [{ writers: 2, heirs: 0, leaders: 0, spillers: 1, sweepers: 2, unanswered: 1, late: 1 }],
  },
  {
    ...garbage,
    name: 'garbageOfChild',
    rows: 'G1, G2',
    small: { writers: 0, heirs: 1, leaders: 1, spillers: 0, sweepers: 1, unanswered: 0, late: 0 },
    large: [{ writers: 0, heirs: 1, leaders: 1, spillers: 0, sweepers: 1, unanswered: 0, late: 1 }],
  },
  {
    ...garbage,
    name: 'garbageTwice',
    rows: 'G2: clocks that differ',
    small: { writers: 1, heirs: 0, leaders: 0, spillers: 0, sweepers: 1, slow: 1, unanswered: 1, late: 1 },
    large: [{ writers: 1, heirs: 0, leaders: 0, spillers: 1, sweepers: 1, slow: 1, unanswered: 1, late: 1 }],
  },
  {
    ...garbage,
    name: 'garbageLast',
    rows: 'G3',
    small: { writers: 1, heirs: 0, leaders: 0, spillers: 0, sweepers: 1, last: true, unanswered: 1, late: 0 },
    large: [{ writers: 1, heirs: 0, leaders: 0, spillers: 1, sweepers: 1, last: true, unanswered: 1, late: 0 }],
  },
];

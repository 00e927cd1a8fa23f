import type { Search } from './search.ts';

// Uploads that are due: all of a sweep, beside whoever submits one, beside others, and after all of them were stopped.

const sweeps = { file: 'sweeps', scope: 'sweeps', limits: { MOVES_MAX: 1, CLAIM_LOOKS_MAX: 2 } };

export const sweepsSearches: readonly Search[] = [
  {
    ...sweeps,
    name: 'sweepsSubmit',
    rows: 'U3',
    small: { submitters: 1, sweepers: 1, unanswered: 1, late: 1 },
    large: [
      { submitters: 1, sweepers: 2, unanswered: 0, late: 0 },
      { submitters: 1, sweepers: 1, spillers: 1, unanswered: 1, late: 1 },
    ],
  },
  {
    ...sweeps,
    name: 'sweepsStopped',
    rows: 'U3',
    small: { submitters: 0, sweepers: 1, last: true, unanswered: 1, late: 1 },
    large: [{ submitters: 0, sweepers: 2, last: true, unanswered: 1, late: 1 }],
  },
  {
    ...sweeps,
    name: 'sweepsLast',
    rows: 'U3',
    small: { submitters: 1, sweepers: 0, last: true, unanswered: 1, late: 0 },
    large: [
      { submitters: 1, sweepers: 1, last: true, unanswered: 0, late: 0 },
      { submitters: 1, sweepers: 0, last: true, unanswered: 2, late: 1 },
    ],
  },
  {
    ...sweeps,
    name: 'sweepsUploaded',
    rows: 'U3',
    small: { submitters: 0, sweepers: 1, uploaded: true, last: true, unanswered: 1, late: 0 },
    large: [{ submitters: 0, sweepers: 2, uploaded: true, last: true, unanswered: 1, late: 0 }],
  },
  {
    ...sweeps,
    name: 'archivedUploads',
    rows: 'U2',
    scope: 'archivedUploads',
    small: { archivers: 1, droppers: 0, collectors: 1, sweepers: 0, unanswered: 0, late: 0 },
    large: [{ archivers: 1, droppers: 0, collectors: 1, sweepers: 0, unanswered: 0, late: 1 }],
  },
  {
    ...sweeps,
    name: 'droppedUploads',
    rows: 'U2',
    scope: 'archivedUploads',
    small: { archivers: 0, droppers: 1, collectors: 1, sweepers: 0, unanswered: 0, late: 0 },
    large: [
      { archivers: 0, droppers: 1, collectors: 1, sweepers: 0, unanswered: 0, late: 1 },
      { archivers: 0, droppers: 1, collectors: 1, sweepers: 0, unanswered: 1, late: 0 },
    ],
  },
];

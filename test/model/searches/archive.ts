import type { Search } from './search.ts';

// Messages that leave the index for files, or for nothing.

const archive = { file: 'archive', scope: 'publishAndArchive' };
/** Two messages in a page, and nobody who commits. */
const paged = { publishers: 0, spillers: 0, sweepers: 0, before: 2, spilled: true, rounds: 1 };

export const archiveSearches: readonly Search[] = [
  {
    ...archive,
    name: 'publishAndArchive',
    rows: 'A5',
    small: { publishers: 1, spillers: 1, archivers: 1, sweepers: 1, before: 0, rounds: 1, unanswered: 1, late: 1 },
    large: [{ publishers: 2, spillers: 1, archivers: 1, sweepers: 1, before: 0, rounds: 2, unanswered: 1, late: 1 }],
  },
  {
    ...archive,
    name: 'archivers',
    rows: 'R1',
    small: { ...paged, archivers: 2, unanswered: 1, late: 1 },
    large: [
      { ...paged, archivers: 2, sweepers: 1, unanswered: 1, late: 1 },
      { ...paged, spilled: false, publishers: 1, archivers: 2, sweepers: 1, unanswered: 0, late: 0 },
    ],
  },
  {
    ...archive,
    name: 'droppers',
    rows: 'R1',
    small: { ...paged, archivers: 1, fileBytesMax: 1, droppers: 1, to: 1, unanswered: 1, late: 1 },
    large: [
      { ...paged, archivers: 1, droppers: 2, to: 1, sweepers: 1, unanswered: 0, late: 1 },
      { ...paged, archivers: 2, droppers: 1, to: 1, unanswered: 1, late: 0 },
    ],
  },
  {
    ...archive,
    name: 'droppersLast',
    rows: 'R1',
    small: { ...paged, archivers: 0, droppers: 1, to: 1, last: true, unanswered: 1, late: 0 },
    large: [{ ...paged, archivers: 1, droppers: 1, to: 1, last: true, unanswered: 1, late: 0 }],
  },
  {
    file: 'archive',
    scope: 'readArchived',
    name: 'readArchived',
    rows: 'R2, A9',
    small: { archivers: 1, droppers: 0, sweepers: 1, ghosts: 1, rounds: 2, unanswered: 0, late: 0 },
    large: [{ archivers: 1, droppers: 1, sweepers: 1, ghosts: 1, rounds: 2, unanswered: 0, late: 0 }],
  },
];

import { archiveSearches } from './searches/archive.ts';
import { commitSearches } from './searches/commit.ts';
import { garbageSearches } from './searches/garbage.ts';
import { lineageSearches } from './searches/lineage.ts';
import { linesSearches } from './searches/lines.ts';
import { leaseSearches } from './searches/lease.ts';
import { movesSearches } from './searches/moves.ts';
import { requestsSearches } from './searches/requests.ts';
import { sweepsSearches } from './searches/sweeps.ts';
import { topicsSearches } from './searches/topics.ts';
import { uploadsSearches } from './searches/uploads.ts';
import type { Search } from './searches/search.ts';

/** Budgets that end loops: what they answer at their end must be true as well. */
export const LIMITS: Readonly<Record<string, number>> = {
  COMMIT_ATTEMPTS_MAX: 4,
  COMMIT_IDS_MAX: 2,
  WRITE_ATTEMPTS_MAX: 2,
  HEAD_ENTRIES_MAX: 2,
  MOVES_MAX: 3,
  READ_ATTEMPTS_MAX: 3,
  CHANGE_ATTEMPTS_MAX: 3,
};

export const searches: readonly Search[] = [
  ...commitSearches,
  ...linesSearches,
  ...requestsSearches,
  ...topicsSearches,
  ...movesSearches,
  ...leaseSearches,
  ...lineageSearches,
  ...uploadsSearches,
  ...sweepsSearches,
  ...archiveSearches,
  ...garbageSearches,
];

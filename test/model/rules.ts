import { archiveRules } from './rules/archive.ts';
import { fateRules } from './rules/fate.ts';
import { garbageRules } from './rules/garbage.ts';
import { leaseRules } from './rules/lease.ts';
import { lineRules } from './rules/lines.ts';
import { moveRules } from './rules/moves.ts';
import { readerRules } from './rules/readers.ts';
import { requestRules } from './rules/requests.ts';
import { spillRules } from './rules/spill.ts';
import { sweepRules } from './rules/sweeps.ts';
import { topicRules } from './rules/topics.ts';
import { uploadRules } from './rules/uploads.ts';

/** Every rule that the model takes away, one at a time. */
export const rules = [
  ...spillRules,
  ...fateRules,
  ...lineRules,
  ...requestRules,
  ...topicRules,
  ...moveRules,
  ...leaseRules,
  ...readerRules,
  ...uploadRules,
  ...sweepRules,
  ...archiveRules,
  ...garbageRules,
];

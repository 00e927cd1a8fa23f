import { z } from 'zod';
import { RETENTION_CUTS_MAX } from '../model/archive-limits.ts';
import { Integer, SegmentId } from './schemas.ts';

export const Sweep = z.strictObject({ dryRun: z.boolean().default(false) }).meta({ id: 'Sweep' });

export const SweptUploads = z
  .strictObject({
    examined: Integer,
    expired: Integer,
    submitted: Integer,
    staged: Integer,
    orphans: Integer,
    checked: Integer,
    quarantined: Integer,
    bytes: Integer,
    failed: Integer,
  })
  .meta({
    id: 'SweptUploads',
    description:
      '`expired`: they went. `submitted`, `staged`: somebody was stopped while submitting, and that is what they are. `orphans`: objects of no upload. ' +
      '`quarantined`: messages of those `checked`. `bytes`: of the objects that went.',
  });

export const SweptDeletions = z
  .strictObject({ carriedOn: Integer, cleaned: Integer, strays: Integer, failed: Integer })
  .meta({ id: 'SweptDeletions', description: '`cleaned`: deleted topics whose objects are gone. `strays`: what came after that.' });

export const RetentionCut = z
  .strictObject({
    topic: z.string(),
    segment: SegmentId,
    start: Integer,
    messages: Integer,
    bytes: Integer,
    reason: z.enum(['max-age', 'max-bytes']),
  })
  .meta({ id: 'RetentionCut', description: 'Messages that a segment has kept long enough: it begins at `start` now. `topic`: its id.' });

export const SweptRetention = z
  .strictObject({
    examined: Integer,
    messages: Integer,
    bytes: Integer,
    failed: Integer,
    cuts: z.array(RetentionCut).max(RETENTION_CUTS_MAX),
  })
  .meta({
    id: 'SweptRetention',
    description: '`examined`: segments of topics that do not keep everything. `messages`, `bytes`: all that went.',
  });

export const SweptGarbage = z
  .strictObject({
    neverCommitted: Integer,
    archived: Integer,
    files: Integer,
    uploads: Integer,
    pages: Integer,
    lines: Integer,
    requests: Integer,
    bytes: Integer,
    failed: Integer,
  })
  .meta({
    id: 'SweptGarbage',
    description:
      '`neverCommitted`, `archived`: batch objects. `pages`: of the index. `lines`: of producers, in sealed segments. `requests`: whose Idempotency-Key has ' +
      'expired. `bytes`: of the objects, files and uploads that went.',
  });

export const SweepReport = z
  .strictObject({
    dryRun: z.boolean(),
    complete: z.boolean(),
    uploads: SweptUploads,
    deletions: SweptDeletions,
    retention: SweptRetention,
    garbage: SweptGarbage,
  })
  .meta({ id: 'SweepReport', description: '`complete`: false where its time was over. The next one goes on.' });

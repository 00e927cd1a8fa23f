import { z } from 'zod';
import { Integer } from './schemas.ts';

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
    garbage: SweptGarbage,
  })
  .meta({ id: 'SweepReport', description: '`complete`: false where its time was over. The next one goes on.' });

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

export const SweepReport = z
  .strictObject({ dryRun: z.boolean(), complete: z.boolean(), uploads: SweptUploads, deletions: SweptDeletions })
  .meta({ id: 'SweepReport', description: '`complete`: false where its time was over. The next one goes on.' });

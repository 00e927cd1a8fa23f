import { z } from 'zod';
import { TIMESTAMP_MS_MAX } from '../model/limits.ts';
import { Integer, SegmentId } from './schemas.ts';

// Files of old messages, and truncation, as schemas.ts has the rest.

export const FilesAfter = z.string().regex(/^s[0-9a-z]{7}:(?:0|[1-9][0-9]{0,15})$/);

export const ArchivedFile = z
  .strictObject({
    segment: SegmentId,
    firstOffset: Integer,
    lastOffset: Integer,
    date: z.iso.date(),
    rows: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    misfits: Integer,
    bytes: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    method: z.literal('GET'),
    url: z.url(),
    headers: z.strictObject({}),
  })
  .meta({
    id: 'ArchivedFile',
    description: 'A Parquet file of messages, all committed on `date` (UTC). `misfits`: those that do not fit the topic’s schema.',
  });

export const FilesPage = z
  .strictObject({ files: z.array(ArchivedFile), expiresAt: z.iso.datetime(), next: FilesAfter.optional() })
  .meta({ id: 'FilesPage', description: '`next`: pass it as `after`; there may be more.' });

const dryRun = z.boolean().optional();

export const Truncate = z
  .union([
    z.strictObject({ segment: SegmentId, offset: Integer, dryRun }),
    z.strictObject({ segment: SegmentId.optional(), timestamp: z.int().min(0).max(TIMESTAMP_MS_MAX), dryRun }),
  ])
  .meta({
    id: 'Truncate',
    description: 'Up to an offset of a segment; or, of one or of all, up to the first message of that time or a later one.',
  });

export const TruncatedSegment = z.strictObject({ segment: SegmentId, offset: Integer, from: Integer, start: Integer, tail: Integer }).meta({
  id: 'TruncatedSegment',
  description: 'It began at `from`, and begins at `start`. Below `offset`, which was asked for: ask again.',
});

export const Truncated = z
  .strictObject({ dryRun: z.boolean(), complete: z.boolean(), segments: z.array(TruncatedSegment) })
  .meta({ id: 'Truncated', description: '`complete`: false where its time was over. Ask again.' });

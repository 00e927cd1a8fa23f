import { z } from 'zod';
import { Integer, SegmentId, SegmentRange } from './schemas.ts';

// Where batches lie, as schemas.ts has the rest.

const Positive = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const BatchReference = z
  .strictObject({ firstOffset: Integer, count: Positive, bytes: Positive, crc: z.int().min(0).max(0xffff_ffff) })
  .meta({ id: 'BatchReference', description: 'One record batch of a reference. `crc`: CRC-32C, as in its header.' });

export const StretchReference = z
  .strictObject({
    segment: SegmentId,
    url: z.url(),
    method: z.literal('GET'),
    headers: z.strictObject({ range: z.string() }),
    bytes: Positive,
    firstOffset: Integer,
    count: Positive,
    batches: z.array(BatchReference).min(1),
  })
  .meta({
    id: 'StretchReference',
    description: 'Whole batches, one behind the other, of which `count` records from `firstOffset` on are wanted.',
  });

const references = { references: z.array(StretchReference), expiresAt: z.iso.datetime() };

export const SegmentReferences = z
  .strictObject({ ...references, nextOffset: Integer, tail: Integer, sealed: z.boolean(), successors: z.array(SegmentRange) })
  .meta({ id: 'SegmentReferences' });

export const TopicReferences = z.strictObject({ ...references, cursor: z.string() }).meta({ id: 'TopicReferences' });

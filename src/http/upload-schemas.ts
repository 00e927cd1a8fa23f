import { z } from 'zod';
import { PARTITIONS, REQUEST_BYTES_MAX, REQUEST_MESSAGES_MAX } from '../model/limits.ts';
import { UPLOAD_BATCHES_BYTES_MAX, UPLOAD_BATCHES_MAX, UPLOAD_BYTES_MAX, UPLOAD_TYPE_BYTES_MAX } from '../model/upload-limits.ts';
import { Base64, Integer, SegmentId } from './schemas.ts';

// What is passed by reference, as schemas.ts has the rest.

const Offset = Integer;

export const UploadId = z.string().regex(/^u[0-9a-z]{15}$/);

const content = {
  bytes: z.int().min(0).max(UPLOAD_BYTES_MAX),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  contentType: z.string().max(UPLOAD_TYPE_BYTES_MAX),
};

export const NewUpload = z
  .strictObject({ ...content, contentType: content.contentType.default('application/octet-stream') })
  .meta({ id: 'NewUpload', description: 'What is going to be uploaded: the store takes nothing else.' });

export const UploadRequest = z
  .strictObject({
    upload: UploadId,
    url: z.string(),
    method: z.literal('PUT'),
    headers: z.record(z.string(), z.string()),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'UploadRequest', description: 'How the bytes are sent to the store: with exactly these headers, without a token.' });

const reference = { upload: UploadId, ...content };

export const Reference = z
  .strictObject({ ...reference, url: z.string() })
  .meta({ id: 'Reference', description: 'An upload, and where its bytes are for 15 minutes. Check their hash.' });

export const ShownReference = z
  .union([Reference, z.strictObject({ ...reference, content: Base64 })])
  .meta({ id: 'ShownReference', description: 'An upload with its URL, or with its bytes where `inlineBytes` asks for them.' });

const described = { ...reference, expiresAt: z.iso.datetime() };

export const Upload = z
  .union([
    z.strictObject({ ...described, state: z.enum(['staged', 'submitting', 'expired']) }),
    z.strictObject({
      ...described,
      state: z.literal('submitted'),
      segment: SegmentId,
      offset: Offset,
      quarantined: z
        .array(z.strictObject({ offset: Offset, count: z.int().min(1) }))
        .min(1)
        .optional(),
      reference: Reference,
    }),
  ])
  .meta({ id: 'Upload' });

export const SubmittedBatch = z
  .strictObject({
    offset: z.int().min(0).max(UPLOAD_BATCHES_BYTES_MAX),
    bytes: z.int().min(1).max(REQUEST_BYTES_MAX),
    count: z.int().min(1).max(REQUEST_MESSAGES_MAX),
    crc: z.int().min(0).max(0xffff_ffff),
    partitions: z
      .array(
        z
          .int()
          .min(0)
          .max(PARTITIONS - 1),
      )
      .min(1)
      .max(REQUEST_MESSAGES_MAX),
  })
  .meta({
    id: 'SubmittedBatch',
    description: 'Where a record batch is in the upload, and what its header says. `partitions`: of each record.',
  });

export const SubmittedBatches = z
  .strictObject({ batch: UploadId, segment: SegmentId, batches: z.array(SubmittedBatch).min(1).max(UPLOAD_BATCHES_MAX) })
  .meta({ id: 'SubmittedBatches', description: 'An upload of record batches, which is committed as it is.' });

import type { UploadContent } from '../../model/upload.ts';
import { byteRange } from './content-range.ts';

// What has to be sent with a presigned request: the store refuses it without, or with others.

type Headers = Readonly<Record<string, string>>;

export const putHeaders = ({ bytes, sha256, contentType }: UploadContent): Headers => ({
  'content-length': String(bytes),
  'content-type': contentType,
  'if-none-match': '*',
  'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64'),
});

export const getHeaders = (range: { readonly start: number; readonly bytes: number } | undefined): Headers =>
  range === undefined ? {} : { range: byteRange(range.start, range.bytes) };

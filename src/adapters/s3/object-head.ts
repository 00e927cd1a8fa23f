import assert from 'node:assert/strict';
import type { ObjectHead } from '../../ports/object-store.ts';

/** 32 bytes in base64. A checksum of checksums, which objects in parts have, has more behind it. */
const SHA256 = /^[A-Za-z0-9+/]{43}=$/;

export type HeadAnswer = {
  readonly contentLength: string;
  readonly checksum: string | undefined;
  readonly contentEncoding: string | undefined;
};

/**
 * What the headers of a HEAD's answer say. Throws where they don't tell the length. The checksum is that of the stored bytes: who
 * gets these under a Content-Encoding decodes them, and has others.
 */
export function parseObjectHead({ contentLength, checksum, contentEncoding = '' }: HeadAnswer): ObjectHead {
  assert(/^\d{1,15}$/.test(contentLength), 'the answer does not tell the length of the object');
  const known = checksum !== undefined && SHA256.test(checksum) && /^(?:identity)?$/i.test(contentEncoding);
  return { bytes: Number(contentLength), sha256: known ? Buffer.from(checksum, 'base64').toString('hex') : undefined };
}

import { isUploadId } from '../model/ids.ts';
import type { Bytes, Message } from '../model/message.ts';
import { UPLOAD_BYTES_MAX } from '../model/upload-limits.ts';
import type { Reference } from '../model/upload.ts';
import { isContentType } from './content-type.ts';
import { kindOf } from './message-kind.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

/** A reference as it is shown: with where its bytes are for a while, or with the bytes. */
export type ShownReference = { readonly reference: Reference } & ({ readonly url: string } | { readonly content: Bytes });

const SHA256 = /^[0-9a-f]{64}$/;
/** The longest one: a type whose characters are all escaped, and what stands around it. */
const REFERENCE_BYTES_MAX = 1_024;

export const isSha256 = (text: string): boolean => SHA256.test(text);

/** What a message holds in place of its value. */
export const encodeReference = ({ upload, bytes, sha256, contentType }: Reference): Bytes =>
  encodeUtf8(JSON.stringify({ upload, bytes, sha256, contentType }));

/**
 * The upload that a stored message refers to; undefined: none. A batch can say anything, so only what {@link encodeReference}
 * makes counts, to the byte.
 */
export function referenceOf(message: Pick<Message, 'headers' | 'value'>): Reference | undefined {
  const { value } = message;
  return value === null || value.length > REFERENCE_BYTES_MAX || kindOf(message) !== 'upload' ? undefined : decodeReference(value);
}

/** Undefined where the value has any other form. */
export function decodeReference(value: Bytes): Reference | undefined {
  const parsed = parse(value);
  if (!isReference(parsed)) return undefined;
  const again = encodeReference(parsed);
  return again.length === value.length && again.every((byte, at) => byte === value[at]) ? parsed : undefined;
}

function parse(value: Bytes): unknown {
  try {
    return JSON.parse(decodeUtf8(value) ?? '');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isReference(value: unknown): value is Reference {
  if (typeof value !== 'object' || value === null) return false;
  const { upload, bytes, sha256, contentType } = value as Record<string, unknown>;
  return (
    typeof upload === 'string' &&
    isUploadId(upload) &&
    Number.isInteger(bytes) &&
    (bytes as number) >= 0 &&
    (bytes as number) <= UPLOAD_BYTES_MAX &&
    typeof sha256 === 'string' &&
    isSha256(sha256) &&
    typeof contentType === 'string' &&
    isContentType(contentType)
  );
}

import { inField } from '../format/field-path.ts';
import { KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import type { Compression } from '../ports/compression.ts';

export const ENCODINGS = ['gzip', 'zstd'] as const;

const FIELD = 'Content-Encoding';

/** How a body is encoded; undefined: it isn't. Error `unsupported-type`; thrown before the body is read. */
export function encodingOf(header: string | undefined): (typeof ENCODINGS)[number] | undefined {
  if (header === undefined) return undefined;
  const name = header.trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === 'zstd') return 'zstd';
  throw new KelpError('invalid', 'unsupported-type', `one of ${ENCODINGS.join(', ')}, once`, { field: FIELD });
}

/** What was encoded. Errors `invalid-compression`, `too-large`: counted as it comes out, so that nothing can swell. */
export async function decodeBody(
  bytes: Bytes,
  encoding: (typeof ENCODINGS)[number] | undefined,
  options: { readonly compression: Compression; readonly bytesMax: number },
): Promise<Bytes> {
  if (encoding === undefined) return bytes;
  try {
    return await options.compression.decompress(encoding, bytes, options.bytesMax);
  } catch (error) {
    throw inField(FIELD, error);
  }
}

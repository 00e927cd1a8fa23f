import type { Bytes } from '../model/message.ts';

/**
 * Compression of what is in archived files, which other programs read: always zstd, whatever its size becomes, and on the spot, since the
 * format's libraries ask for it in the middle of their work. The same bytes make the same frame, of one version of the runtime.
 */
export type FileCompression = {
  /** One frame, with its checksum. No bytes at all stay none. */
  compress(bytes: Bytes): Bytes;
  /** Error `invalid`/`invalid-compression`: damaged, or not `length` bytes come out. */
  decompress(bytes: Bytes, length: number): Bytes;
};

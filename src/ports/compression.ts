import type { Bytes } from '../model/message.ts';

/** How a record batch's records may be compressed; others are refused. */
export type Codec = 'none' | 'gzip' | 'zstd';

/** What may come out at most; `expected`: so much will, and memory for it is taken at once. */
export type Bound = number | { readonly expected: number };

/** Compression, as a port: runtimes differ in what they bring. */
export type Compression = {
  /** Compresses with the runtime's default codec; answers `none` and the same bytes where that doesn't make them smaller. */
  compress(bytes: Bytes): Promise<{ readonly codec: Codec; readonly bytes: Bytes }>;
  /**
   * Error `invalid`/`invalid-compression`: damaged input, or a codec this runtime lacks;
   * `invalid`/`too-large`: more than the bound would come out (what comes out is counted while it does).
   */
  decompress(codec: Codec, bytes: Bytes, bound: Bound): Promise<Bytes>;
};

import zlib from 'node:zlib';
import { KelpError } from '../../model/errors.ts';
import type { Bytes } from '../../model/message.ts';
import type { FileCompression } from '../../ports/file-compression.ts';

/** As for batches: storage is slower than either, and higher levels gain little on messages. */
const LEVEL = 1;
const CHUNK_BYTES_MIN = 64;

/** Compression of archived files by the runtime's own zstd. */
export const createFileCompression = (): FileCompression => ({ compress, decompress });

function compress(bytes: Bytes): Bytes {
  if (bytes.length === 0) return bytes;
  const params = { [zlib.constants.ZSTD_c_compressionLevel]: LEVEL, [zlib.constants.ZSTD_c_checksumFlag]: 1 };
  // One chunk holds all output whatever the input.
  return zlib.zstdCompressSync(bytes, { params, chunkSize: bytes.length + (bytes.length >> 8) + 128 });
}

function decompress(bytes: Bytes, length: number): Bytes {
  if (bytes.length === 0 && length === 0) return bytes;
  const plain = unpack(bytes, length);
  if (plain.length === length) return plain;
  throw new KelpError('invalid', 'invalid-compression', `${plain.length} bytes come out where ${length} are expected`);
}

function unpack(bytes: Bytes, length: number): Bytes {
  try {
    return zlib.zstdDecompressSync(bytes, { maxOutputLength: Math.max(length, 1), chunkSize: Math.max(length, CHUNK_BYTES_MIN) });
  } catch (error) {
    throw new KelpError('invalid', 'invalid-compression', 'not valid zstd', { cause: error });
  }
}

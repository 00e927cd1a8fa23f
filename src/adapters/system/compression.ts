import { promisify } from 'node:util';
import zlib, { type ZlibOptions, type ZstdOptions } from 'node:zlib';
import { KelpError } from '../../model/errors.ts';
import type { Bytes } from '../../model/message.ts';
import type { Bound, Codec, Compression } from '../../ports/compression.ts';

/** Up to here a call on the spot is cheaper than a trip to the thread pool (50 microseconds), and blocks for 0.1 ms at most. */
const COMPRESS_SYNC_BYTES_MAX = 65_536;
const DECOMPRESS_SYNC_BYTES_MAX = 16_384;
/** What may come out on the spot: a small input can unpack to a lot, which then belongs into the thread pool. */
const DECOMPRESSED_SYNC_BYTES_MAX = 262_144;
/** Inputs above this are tried on a sample first: random bytes cost zstd 0.75 ms and gzip 20 ms for each MiB, for nothing. */
const SAMPLE_FROM_BYTES = 131_072;
const SAMPLE_PARTS = 4;
const SAMPLE_PART_BYTES = 4_096;
/** A sample that doesn't get below this speaks for input that isn't worth it. */
const SAMPLE_RATIO_MAX = 0.97;
/** Fastest levels: storage is slower than either. */
const LEVEL = 1;
/** 2^24 bytes, what a request may unpack to: a frame that asks for a larger window only wants our memory. */
const ZSTD_WINDOW_LOG_MAX = 24;
const CHUNK_BYTES_MIN = 4_096;
const CHUNK_BYTES_MAX = 1_048_576;
/** Typical ratio of JSON records; a wrong guess costs another chunk. */
const EXPANSION = 4;

type Packed = Exclude<Codec, 'none'>;
type Options = ZlibOptions & ZstdOptions;
/** What the runtime answers when it is asked for `info`: `bytesWritten` is what was taken from the input. */
type Unpacked = { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };

const packs: Record<
  Packed,
  { sync: (bytes: Bytes, options: Options) => Buffer; pooled: (bytes: Bytes, options: Options) => Promise<Buffer> }
> = {
  zstd: { sync: zlib.zstdCompressSync, pooled: promisify(zlib.zstdCompress) },
  gzip: { sync: zlib.gzipSync, pooled: promisify(zlib.gzip) },
};
const unpacks = {
  zstd: { sync: zlib.zstdDecompressSync, pooled: promisify(zlib.zstdDecompress) },
  gzip: { sync: zlib.gunzipSync, pooled: promisify(zlib.gunzip) },
} as unknown as Record<
  Packed,
  { sync: (bytes: Bytes, options: Options) => Unpacked; pooled: (bytes: Bytes, options: Options) => Promise<Unpacked> }
>;

/** Compression by the runtime's own library. `codec` is what {@link Compression.compress} uses; all three can be read. */
export function createCompression({ codec }: { readonly codec: Codec }): Compression {
  return {
    compress: async (bytes) => {
      const plain = { codec: 'none', bytes } as const;
      if (codec === 'none' || !isWorthIt(codec, bytes)) return plain;
      const pack = bytes.length <= COMPRESS_SYNC_BYTES_MAX ? packs[codec].sync : packs[codec].pooled;
      const packed = await pack(bytes, packOptions(bytes.length));
      return packed.length < bytes.length ? { codec, bytes: packed } : plain;
    },
    decompress: async (from, bytes, bound) => {
      const bytesMax = typeof bound === 'number' ? bound : bound.expected;
      if (from !== 'none') return unpack(from, bytes, { bytesMax, chunkBytes: chunkBytesOf(bytes.length, bound) });
      if (bytes.length > bytesMax) throw tooLarge(bytesMax);
      return bytes;
    },
  };
}

/** Looks at parts from all over the input, so that a compressible header alone doesn't decide. */
function isWorthIt(codec: Packed, bytes: Bytes): boolean {
  if (bytes.length < SAMPLE_FROM_BYTES) return true;
  const sample = new Uint8Array(SAMPLE_PARTS * SAMPLE_PART_BYTES);
  const step = Math.floor((bytes.length - SAMPLE_PART_BYTES) / (SAMPLE_PARTS - 1));
  for (let part = 0; part < SAMPLE_PARTS; part += 1) {
    sample.set(bytes.subarray(part * step, part * step + SAMPLE_PART_BYTES), part * SAMPLE_PART_BYTES);
  }
  return packs[codec].sync(sample, packOptions(sample.length)).length < sample.length * SAMPLE_RATIO_MAX;
}

/** One chunk holds all output whatever the input: the default of 16 KiB costs a trip to the thread pool for each. */
function packOptions(length: number): Options {
  return { level: LEVEL, params: { [zlib.constants.ZSTD_c_compressionLevel]: LEVEL }, chunkSize: length + (length >> 8) + 128 };
}

type Room = { readonly bytesMax: number; readonly chunkBytes: number };

/** Each chunk costs a trip to the thread pool, and several a copy of them all. */
const chunkBytesOf = (length: number, bound: Bound): number =>
  typeof bound === 'number'
    ? Math.min(Math.max(length * EXPANSION, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX)
    : Math.max(bound.expected, CHUNK_BYTES_MIN);

async function unpack(codec: Packed, bytes: Bytes, room: Room): Promise<Bytes> {
  const { bytesMax } = room;
  if (bytesMax < 1) throw tooLarge(bytesMax);
  try {
    return taken(await unpackBounded(codec, bytes, room), bytes);
  } catch (error) {
    if (isOverflow(error)) throw tooLarge(bytesMax);
    if (isDamage(error)) throw new KelpError('invalid', 'invalid-compression', `not valid ${codec}`, { cause: error });
    throw error;
  }
}

async function unpackBounded(codec: Packed, bytes: Bytes, room: Room): Promise<Unpacked> {
  const { sync, pooled } = unpacks[codec];
  const isLarge = bytes.length > DECOMPRESS_SYNC_BYTES_MAX || room.chunkBytes > DECOMPRESSED_SYNC_BYTES_MAX;
  if (isLarge) return pooled(bytes, unpackOptions(room));
  const syncBytesMax = Math.min(room.bytesMax, DECOMPRESSED_SYNC_BYTES_MAX);
  try {
    return sync(bytes, unpackOptions({ ...room, bytesMax: syncBytesMax }));
  } catch (error) {
    if (!isOverflow(error) || syncBytesMax === room.bytesMax) throw error;
    return pooled(bytes, unpackOptions(room));
  }
}

function unpackOptions({ bytesMax, chunkBytes }: Room): Options & { info: true } {
  return {
    info: true,
    maxOutputLength: bytesMax,
    chunkSize: chunkBytes,
    params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
  };
}

/** The runtime ignores what stands behind the compressed data; here, all of the input counts. */
function taken({ buffer, engine }: Unpacked, bytes: Bytes): Bytes {
  if (engine.bytesWritten !== bytes.length) {
    throw new KelpError('invalid', 'invalid-compression', `${bytes.length - engine.bytesWritten} bytes stand behind the compressed data`);
  }
  return buffer;
}

const tooLarge = (bytesMax: number): KelpError =>
  new KelpError('invalid', 'too-large', `more than ${bytesMax} bytes come out of the compressed data`);

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '');
const isOverflow = (error: unknown): boolean => codeOf(error) === 'ERR_BUFFER_TOO_LARGE';
/** The last one is workerd's. */
const isDamage = (error: unknown): boolean => /^(?:Z_|ZSTD_|ERR_ZSTD_DECOMPRESSION_FAILED$)/.test(codeOf(error));

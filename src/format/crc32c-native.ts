import { crc32c as addon } from '@node-rs/crc32';
import type { Bytes } from '../model/message.ts';

/** CRC-32C by a native addon, 5 GB/s: what Node uses unbundled. Same contract as the portable one. */
export function crc32c(bytes: Bytes, initial = 0): number {
  return addon(bytes, initial);
}

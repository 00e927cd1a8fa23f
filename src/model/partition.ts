import { md5 } from 'js-md5';
import type { Bytes } from './message.ts';

/**
 * The partition of a key: the first two bytes, big-endian, of its MD5. Clients, brokers and the commit all route by it, so
 * it works on the key's bytes and never on its characters. `array` stays in plain JavaScript in every runtime (a build with
 * a restricted crypto module has no MD5) and is the fastest of the library's outputs.
 */
export function partitionOf(key: Bytes): number {
  const digest = md5.array(key);
  return ((digest[0] ?? 0) << 8) | (digest[1] ?? 0);
}

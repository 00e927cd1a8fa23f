import { createHash } from 'node:crypto';
import type { Digest } from '../../ports/digest.ts';

export function createDigest(): Digest {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

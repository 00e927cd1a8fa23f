import assert from 'node:assert/strict';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { formatPeerSignature, parsePeerSignature, type PeerSigned, peerSignedText } from '../../format/peer-request.ts';
import { SIGNATURE_SKEW_MS_MAX } from '../../model/limits.ts';
import type { Bytes } from '../../model/message.ts';
import type { Clock } from '../../ports/clock.ts';

export type PeerSignatures = {
  /** The signature header's value. */
  sign(request: PeerSigned): string;
  /**
   * The SHA-256 of the body that was signed for exactly this request, and lately; undefined: it wasn't. All that is wrong
   * takes the same time.
   */
  verify(request: Omit<PeerSigned, 'bodyHash' | 'timeMs'> & { readonly signature: string | undefined }): string | undefined;
};

/** `secret`: the first one signs, all of them verify, so that one can be replaced while brokers run. */
export function createPeerSignatures(secret: string | readonly string[], clock: Clock): PeerSignatures {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  const [first] = secrets;
  assert(first !== undefined && !secrets.includes(''), 'there is at least one secret, and none is empty');
  return {
    sign: (request) => formatPeerSignature(request, tagOf(first, request).toString('hex')),
    verify({ signature, ...request }) {
      const sent = parsePeerSignature(signature ?? '');
      if (sent === undefined) return undefined;
      const { timeMs, bodyHash } = sent;
      const tag = Buffer.from(sent.tag, 'hex');
      const signed = { ...request, bodyHash, timeMs };
      const same = secrets.map((candidate) => timingSafeEqual(tagOf(candidate, signed), tag)).includes(true);
      return same && Math.abs(clock.nowMs() - timeMs) <= SIGNATURE_SKEW_MS_MAX ? bodyHash : undefined;
    },
  };
}

function tagOf(secret: string, request: PeerSigned): Buffer {
  return createHmac('sha256', secret).update(peerSignedText(request)).digest();
}

/** Of the parts one after the other: nothing is copied. */
export function bodyHashOf(body: readonly Bytes[]): string {
  const hash = createHash('sha256');
  for (const part of body) hash.update(part);
  return hash.digest('hex');
}

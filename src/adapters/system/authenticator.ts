import type { Bytes } from '../../model/message.ts';
import type { Authenticator } from '../../ports/authenticator.ts';

const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };
const utf8 = new TextEncoder();

/** `secrets`: newest first; it signs, all verify. WebCrypto, which every runtime has. */
export function createAuthenticator(secrets: readonly [string, ...string[]]): Authenticator {
  const keys = secrets.map((secret) => crypto.subtle.importKey('raw', utf8.encode(secret), ALGORITHM, false, ['sign', 'verify']));
  // Whoever signs or verifies gets the failure.
  for (const key of keys) key.catch(() => undefined);
  return {
    async tag(bytes) {
      const [key] = await Promise.all(keys.slice(0, 1));
      if (key === undefined) throw new RangeError('there is at least one secret');
      return new Uint8Array(await crypto.subtle.sign(ALGORITHM, key, plain(bytes)));
    },
    async verify(bytes, tag) {
      for (const key of keys) if (await crypto.subtle.verify(ALGORITHM, await key, plain(tag), plain(bytes))) return true;
      return false;
    },
  };
}

/** WebCrypto takes no shared memory, which the type of bytes allows. */
const plain = (bytes: Bytes): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

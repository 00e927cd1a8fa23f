import type { Bytes } from '../model/message.ts';

/** Marks bytes that go out and come back as this product's own, as a port: runtimes differ in what they bring. */
export type Authenticator = {
  /** HMAC-SHA-256 of the bytes under the newest secret: 32 bytes. */
  tag(bytes: Bytes): Promise<Bytes>;
  /** Whether this is the bytes' tag under any of the secrets, old ones included while they rotate. Takes the same time whichever byte differs. */
  verify(bytes: Bytes, tag: Bytes): Promise<boolean>;
};

import type { Bytes } from '../model/message.ts';

/** SHA-256 of bytes that come piece by piece. */
export type Digest = {
  update(bytes: Bytes): void;
  /** 64 hexadecimal digits, of all that came; once. */
  hex(): string;
};

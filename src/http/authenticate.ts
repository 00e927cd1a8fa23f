import { hash, timingSafeEqual } from 'node:crypto';
import { KelpError } from '../model/errors.ts';

/** Who may come in, by the `Authorization` header's value. Throws `denied`/`unauthenticated`. */
export type Authenticate = (authorization: string | undefined) => void;

const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The root token alone. What was sent is compared by hash: all tokens take the same time, whatever their length and however
 * much of them is right, and so does no token at all.
 */
export function createAuthenticate(rootToken: string): Authenticate {
  const expected = digest(rootToken);
  return (authorization) => {
    const sent = BEARER.exec(authorization ?? '')?.[1];
    const same = timingSafeEqual(digest(sent ?? ''), expected);
    if (!same || sent === undefined) throw new KelpError('denied', 'unauthenticated', 'a valid token is needed: Authorization: Bearer …');
  };
}

const digest = (token: string): Buffer => hash('sha256', token, 'buffer');

import { REFERENCE_MS } from '../model/upload-limits.ts';
import type { Clock } from '../ports/clock.ts';

const SECOND_MS = 1_000;

/** Until when a URL may be used that is signed from here on, for REFERENCE_MS: a signature's time has whole seconds. */
export function signedUntil(clock: Clock): string {
  return new Date(Math.floor(clock.nowMs() / SECOND_MS) * SECOND_MS + REFERENCE_MS).toISOString();
}

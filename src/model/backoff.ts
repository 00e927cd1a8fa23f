import { BACKOFF_MS_MAX, BACKOFF_MS_MIN } from './limits.ts';

/**
 * Milliseconds to wait before the try behind attempt `attempt` (1: the first): exponential with full jitter. `fraction`: a
 * random number from 0 to 1.
 */
export function backoffMs(attempt: number, fraction: number): number {
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1)) * fraction;
}

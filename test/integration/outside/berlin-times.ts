import { TIMESTAMP_MS_MAX } from '../../../src/model/limits.ts';

/** Hours that are the same one twice, or none at all, where clocks are set in Berlin; or whose name begins with a zero; the first and the last time. */
export const TIMES_MS: readonly number[] = [
  '2026-10-25T00:30Z',
  '2026-10-25T01:30Z',
  '2026-03-29T01:30Z',
  '2026-10-26T08:00Z',
  '2026-10-26T09:00Z',
  '2026-10-26T10:00Z',
]
  .map((time) => Date.parse(time))
  .concat(0, TIMESTAMP_MS_MAX);

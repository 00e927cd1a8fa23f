import { KelpError } from '../model/errors.ts';
import { LEADER_POLL_MS_MAX } from '../model/limits.ts';

/** Whoever is asked for what only the leader does, and isn't it, or is it no more. */
export const notLeader = (): KelpError =>
  new KelpError('unavailable', 'not-leader', 'this broker does not lead', { retryAfterMs: LEADER_POLL_MS_MAX });

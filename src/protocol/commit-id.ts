import type { CommitId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';

const TIME_DIGITS = 9;
const INSTANCE_DIGITS = 8;
const COUNTER_DIGITS = 5;
const COUNTER_END = 36 ** COUNTER_DIGITS;

/** Mints commit ids that no other instance mints, whatever its clock says. */
export type CommitIds = { mint(guard: CommitId | ''): CommitId };

/** The random part tells instances apart: with time and counter alone, two brokers would mint the same id in one millisecond. */
export function createCommitIds(deps: { readonly clock: Clock; readonly random: Random }): CommitIds {
  const instance = deps.random.base36(INSTANCE_DIGITS);
  let counter = 0;
  return {
    mint(guard) {
      counter = (counter + 1) % COUNTER_END;
      return formatCommitId(commitTimeMs(deps.clock.nowMs(), guard), instance, counter);
    },
  };
}

/** A clock that is behind would mint ids at or below the guard, which can never land: so the guard's time counts, too. */
export function commitTimeMs(nowMs: number, guard: CommitId | ''): number {
  return guard === '' ? nowMs : Math.max(nowMs, timeOfCommitMs(guard) + 1);
}

export function formatCommitId(timeMs: number, instance: string, counter: number): CommitId {
  return (digits(timeMs, TIME_DIGITS) + instance + digits(counter, COUNTER_DIGITS)) as CommitId;
}

/** When the commit was made, by the wall clock of its broker, in milliseconds since 1970. */
export function timeOfCommitMs(cid: CommitId): number {
  return Number.parseInt(cid.slice(0, TIME_DIGITS), 36);
}

const digits = (value: number, length: number): string => value.toString(36).padStart(length, '0');

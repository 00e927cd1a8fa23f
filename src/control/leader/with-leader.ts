import { backoffMs } from '../../model/backoff.ts';
import { isReached, type Leader } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import { LEADER_POLL_MS_MAX, RETRY_AFTER_MS, TIMEOUT_MS_DEFAULT } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import { isTransient } from '../../state/ask-again.ts';
import { within } from '../../state/within.ts';
import type { LeaderFinder } from './find-leader.ts';

/**
 * Asks the leader, once there is one, and again while that may help: `fn` must be something that may be asked twice. The
 * signal, or TIMEOUT_MS_DEFAULT, bounds the waiting and all attempts together. Ends with the signal's own reason, as of
 * {@link outOfTime}; with an error of `fn` that another try would not change; or with `unavailable`/`no-leader`.
 *
 * What an abort or a time-out has caused is never asked again. So where `fn` bounds a single attempt, for a leader that is
 * frozen, that has to come as an error of its own.
 */
export type WithLeader = <T>(signal: AbortSignal, fn: Ask<T>) => Promise<T>;
type Ask<T> = (leader: Leader, signal: AbortSignal) => Promise<T>;
type GetLeader = (signal: AbortSignal) => Promise<Leader | undefined>;
/** A chain of causes may be a ring. */
const CAUSES_MAX = 16;

type Deps = { readonly clock: Clock; readonly random: Random };

export function createWithLeader(deps: Deps & { readonly finder: LeaderFinder }): WithLeader {
  const { finder } = deps;
  return (signal, fn) =>
    withLeaderFrom(deps, signal, finder.find, async (leader, own) => {
      try {
        return await fn(leader, own);
      } catch (error) {
        if (!own.aborted && mayHelp(error)) finder.forget();
        throw error;
      }
    });
}

/** The same with a way of one's own to find the leader; it has the same bound. */
export async function withLeaderFrom<T>(deps: Deps, signal: AbortSignal, getLeader: GetLeader, fn: Ask<T>): Promise<T> {
  let failure: unknown;
  const reason = (): KelpError =>
    new KelpError('unavailable', 'no-leader', `no leader answered within ${TIMEOUT_MS_DEFAULT} ms`, {
      retryAfterMs: RETRY_AFTER_MS,
      cause: failure,
    });
  const noteFailure = (error: unknown): void => void (failure = error);
  try {
    return await within(
      deps.clock,
      { ms: TIMEOUT_MS_DEFAULT, reason },
      (own) => askUntilAnswered(deps, { getLeader, fn, noteFailure }, own),
      signal,
    );
  } catch (error) {
    throw error === signal.reason ? outOfTime(error, failure) : error;
  }
}

/**
 * What is told where a request's time has ended in waiting for a leader: what kept it waiting, if that is known and has surely
 * changed nothing. `reason`: its signal's; any other than `timeout` stays as it is.
 */
export function outOfTime(reason: unknown, failure: unknown): unknown {
  const isTimeOver = reason instanceof KelpError && reason.code === 'timeout';
  if (!isTimeOver || !(failure instanceof KelpError) || failure.kind === 'indefinite') return reason;
  const message = `no leader answered in time: ${failure.message}`;
  return new KelpError('unavailable', 'no-leader', message, { retryAfterMs: RETRY_AFTER_MS, cause: failure });
}

type Asking<T> = { readonly getLeader: GetLeader; readonly fn: Ask<T>; readonly noteFailure: (error: unknown) => void };

async function askUntilAnswered<T>(deps: Deps, { getLeader, fn, noteFailure }: Asking<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    let asked: Leader | undefined;
    try {
      asked = await waitForLeader(deps, getLeader, signal);
      return await fn(asked, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!mayHelp(error)) throw error;
      noteFailure(error);
    }
    await backOff(deps, { attempt, asked, getLeader }, signal);
  }
}

async function waitForLeader(deps: Deps, getLeader: GetLeader, signal: AbortSignal): Promise<Leader> {
  for (;;) {
    signal.throwIfAborted();
    const leader = await getLeader(signal);
    signal.throwIfAborted();
    if (isReached(leader)) return leader;
    await deps.clock.sleep(pollMs(deps.random), signal);
  }
}

type BackOff = { readonly attempt: number; readonly asked: Leader | undefined; readonly getLeader: GetLeader };

/** Patience is for the one that failed: when another one leads, the wait is over. */
async function backOff(deps: Deps, { attempt, asked, getLeader }: BackOff, signal: AbortSignal): Promise<void> {
  let leftMs = Math.ceil(backoffMs(attempt, deps.random.fraction()));
  while (leftMs > 0) {
    const stepMs = Math.min(leftMs, pollMs(deps.random));
    await deps.clock.sleep(stepMs, signal);
    leftMs -= stepMs;
    if (leftMs > 0 && asked !== undefined && (await hasChanged(asked, getLeader, signal))) return;
  }
}

async function hasChanged(asked: Leader, getLeader: GetLeader, signal: AbortSignal): Promise<boolean> {
  try {
    const leader = await getLeader(signal);
    return isReached(leader) && leader.epoch !== asked.epoch;
  } catch (error) {
    signal.throwIfAborted();
    // The attempt behind this wait asks for itself, and its error counts.
    if (!mayHelp(error)) throw error;
    return false;
  }
}

/** Not in step with the others that wait. */
const pollMs = ({ fraction }: Random): number => Math.floor(LEADER_POLL_MS_MAX * (0.25 + 0.75 * fraction()));

/** Told by kind and name, never by text. What somebody's abort or time-out has caused is not transient, however it is wrapped. */
function mayHelp(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    if (cause.name === 'AbortError' || cause.name === 'TimeoutError') return false;
    ({ cause } = cause);
  }
  return isTransient(error);
}

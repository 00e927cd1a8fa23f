import { decodeHead } from '../format/head-item.ts';
import { headKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import { PENDING_LOOKS_MAX, PENDING_WAIT_MS, THROTTLED_BACKOFF_MAX } from '../model/crowd-limits.ts';
import { COMMIT_ATTEMPTS_MAX, COMMIT_GRACE_MS, COMMIT_IDS_MAX, HEAD_ENTRIES_MAX, THROTTLED_LOOK_FROM } from '../model/limits.ts';
import type { Item, Update, WriteResult } from '../ports/metadata-table.ts';
import { killUpdate } from '../protocol/commit.ts';
import type { SentCommit } from '../protocol/fate.ts';
import { findFate } from '../state/find-fate.ts';
import { backoffUnlessAborted } from '../state/retry.ts';
import { spill } from '../state/spill.ts';
import { withGrace } from '../state/with-grace.ts';
import { carryOnSegment } from '../topology/carry-on.ts';
import { type CommitOutcome, type CommitRequest, failedOutcome, type Judged, landedOutcome, refusedOutcome } from './commit-outcome.ts';
import type { CommitDeps } from './commit-deps.ts';
import { judgeAlone, planCommit } from './plan-commit.ts';

/**
 * What is known of one commit id. `inFlight`: an attempt was left unanswered, or others may send it too: it may land yet.
 * `refusals`: how often the table had no room for it. `waits`: for whoever makes this segment to open it.
 */
type Attempts = { sent: SentCommit; head: Head; headIsFresh: boolean; inFlight: boolean; refusals: number; waits: number };

type Step = CommitOutcome | 'again';

/**
 * Commits one segment's part of a stored object. Whatever is lost on the way, its outcome is exact, or says that it is
 * unknown. The signal bounds the whole; its end gives `failed`: `indefinite` if something may still land.
 */
export async function commitBatch(deps: CommitDeps, request: CommitRequest, signal: AbortSignal): Promise<CommitOutcome> {
  let head = deps.heads.known(request.topic, request.segment) ?? (await readFirstHead(deps, request, signal));
  for (let minted = 0; minted < COMMIT_IDS_MAX; minted += 1) {
    const outcome = await commitUnderOneId(deps, request, head, signal);
    const again = outcome.outcome === 'dead' && outcome.because === 'guard' && request.recorded === undefined;
    if (!again) return outcome;
    deps.telemetry.count('kelp.commits.reminted', 1);
    head = outcome.head;
  }
  return failedOutcome(new KelpError('unavailable', 'unavailable', 'the commit was overtaken again and again', { retryAfterMs: 1_000 }));
}

/** Nothing was sent yet: the end of the time is no unknown outcome. */
async function readFirstHead(deps: CommitDeps, request: CommitRequest, signal: AbortSignal): Promise<Head> {
  try {
    return await readHead(deps, request, signal);
  } catch (error) {
    throw signal.aborted ? endOfBudget(false, signal) : error;
  }
}

async function readHead(deps: CommitDeps, request: CommitRequest, signal: AbortSignal): Promise<Head> {
  const head = await deps.heads.read(request.topic, request.segment, signal);
  if (head === undefined) throw segmentGone(request);
  return head;
}

async function commitUnderOneId(deps: CommitDeps, request: CommitRequest, head: Head, signal: AbortSignal): Promise<CommitOutcome> {
  const { object, recorded } = request;
  const sent: SentCommit =
    recorded === undefined
      ? { cid: deps.commitIds.mint(head.guard), object, tail: head.tail, recorded: false }
      : { ...recorded, object, recorded: true };
  const attempts: Attempts = { sent, head, headIsFresh: false, inFlight: sent.recorded, refusals: 0, waits: 0 };
  let lastError: unknown;
  for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX && !signal.aborted; attempt += 1) {
    try {
      const step = await attemptCommit(deps, request, attempts, signal);
      if (step !== 'again') return step;
    } catch (error) {
      // A read that was cut short by the signal ends the loop like any other end of the budget.
      if (!isRetryable(error) && !signal.aborted) throw attempts.inFlight ? endOfBudget(true, signal, error) : error;
      if (!signal.aborted || isThrottled(error)) lastError = error;
      if (signal.aborted) break;
      if (isThrottled(error)) attempts.refusals += 1;
      await backoffUnlessAborted(deps, isThrottled(error) ? Math.min(attempt, THROTTLED_BACKOFF_MAX) : attempt, signal);
    }
  }
  return failedOutcome(endOfBudget(attempts.inFlight, signal, lastError));
}

/** One send, and what its answer means. */
async function attemptCommit(deps: CommitDeps, request: CommitRequest, attempts: Attempts, signal: AbortSignal): Promise<Step> {
  if (attempts.refusals >= THROTTLED_LOOK_FROM) {
    const step = await lookAgain(deps, request, attempts, signal);
    if (step !== 'again') return step;
  }
  const plan = await planCommit(deps, request, attempts, signal);
  if (plan.plan === 'read-again') {
    see(attempts, await readHead(deps, request, signal));
    return judgeHead(deps, request, attempts, signal);
  }
  if (plan.plan === 'none') return answerRefused(deps, request, { attempts, judged: plan.judged }, signal);
  const applied = await write(deps, request, { attempts, update: plan.update }, signal);
  if (!applied) return judgeHead(deps, request, attempts, signal);
  // It has landed: should a read on the way to the answer fail, the commit must not look refused.
  attempts.inFlight = true;
  const entry = attempts.head.entries.find((candidate) => candidate.cid === attempts.sent.cid);
  if (entry === undefined) throw new Error('an applied commit is not in the head that its write returned');
  return landedOutcome(deps, request, { entry, head: attempts.head, judged: plan.judged }, signal);
}

/**
 * Where many wait for a throttled head, it has changed by the time that one of them has its turn: it is sealed, or a spill has raised the
 * guard above the id, and a refusal for that is paid as a write. A read isn't throttled by writes, and costs less. An id of which each
 * attempt was refused for its rate is neither stored nor on its way: behind the guard, another one takes its place.
 */
async function lookAgain(deps: CommitDeps, request: CommitRequest, attempts: Attempts, signal: AbortSignal): Promise<Step> {
  see(attempts, await readHead(deps, request, signal));
  const { head, inFlight, sent } = attempts;
  if (!inFlight && sent.cid <= head.guard) {
    deps.telemetry.count('kelp.commits.reminted', 1);
    attempts.sent = { ...sent, cid: deps.commitIds.mint(head.guard), tail: head.tail };
  }
  return judgeHead(deps, request, attempts, signal);
}

/** Whether the update applied; either way the head is seen as it was then. */
async function write(
  deps: CommitDeps,
  request: CommitRequest,
  { attempts, update }: { readonly attempts: Attempts; readonly update: Update },
  signal: AbortSignal,
): Promise<boolean> {
  // Outside of what follows: nothing was sent.
  signal.throwIfAborted();
  try {
    const send = (ends: AbortSignal): Promise<WriteResult> => deps.table.update(headKey(request.topic, request.segment), update, ends);
    const result = await withGrace(deps.clock, COMMIT_GRACE_MS, send, signal);
    see(attempts, decodeOld(request, result.item));
    deps.heads.offer(attempts.head);
    return result.applied;
  } catch (error) {
    // Of an error that is none of the port's, nobody knows what it means.
    if (!(error instanceof KelpError) || error.kind === 'indefinite') attempts.inFlight = true;
    if (isThrottled(error)) deps.pressure.throttled(request.topic, request.segment);
    throw error;
  }
}

/** Goes by what a strong read of the head shows (and the pages behind it), never by why the table says it refused. */
async function judgeHead(deps: CommitDeps, request: CommitRequest, attempts: Attempts, signal: AbortSignal): Promise<Step> {
  const { head, sent } = attempts;
  const fate = await findFate(deps, sent, head, signal);
  if (fate.fate === 'unknown') return failedOutcome(new KelpError('indefinite', 'indefinite', 'the index of this commit is gone'));
  if (fate.fate === 'dead' && fate.because !== 'sealed') return { outcome: 'dead', because: fate.because, head };
  if (fate.fate !== 'open') {
    const judged = await judgeAlone(deps, request, head, signal);
    if (fate.fate === 'dead') return refusedOutcome(deps, request, { head, judged }, signal);
    return landedOutcome(deps, request, { entry: fate.entry, head, judged }, signal);
  }
  if (head.state === 'pending') return waitUntilOpen(deps, request, attempts, signal);
  if (head.entries.length >= HEAD_ENTRIES_MAX) {
    see(attempts, await spill(deps, head, signal));
    // That head is newer than the fate: what it says of the tail must not be held against an entry that may be in it.
    return 'again';
  }
  if (request.matchTail === undefined || head.tail === request.matchTail) return 'again';
  return answerRefused(deps, request, { attempts, judged: { verdicts: [], lines: new Map() } }, signal);
}

/**
 * F28: a publisher learns of a pending segment from its sealed parent, so it opens in a moment, unless whoever sealed that was
 * stopped in between: then the publisher carries the change on itself. Either way the same id goes again.
 */
async function waitUntilOpen(deps: CommitDeps, request: CommitRequest, attempts: Attempts, signal: AbortSignal): Promise<Step> {
  // Many may wait here: they look ever more rarely, not all at a time, and for a read.
  while (attempts.waits < PENDING_LOOKS_MAX) {
    await deps.clock.sleep(Math.ceil(PENDING_WAIT_MS * 2 ** attempts.waits * (0.5 + 0.5 * deps.random.fraction())), signal);
    attempts.waits += 1;
    see(attempts, await readHead(deps, request, signal));
    if (attempts.head.state !== 'pending') return 'again';
  }
  await carryOnSegment(deps, request.topic, request.segment, signal);
  see(attempts, await readHead(deps, request, signal));
  if (attempts.head.state !== 'pending') return 'again';
  throw new KelpError('unavailable', 'unavailable', 'the segment is not open yet', { retryAfterMs: 1_000 });
}

/** K1, A8: what may still land must not be answered 'refused': its id is killed first, and its fate looked at. */
async function answerRefused(
  deps: CommitDeps,
  request: CommitRequest,
  { attempts, judged }: { readonly attempts: Attempts; readonly judged: Judged },
  signal: AbortSignal,
): Promise<Step> {
  // A tail only rises: an absent entry that needed a lower one can't land any more.
  const passed = request.matchTail !== undefined && attempts.head.tail > request.matchTail;
  if (!attempts.inFlight || passed) return refusedOutcome(deps, request, { head: attempts.head, judged }, signal);
  const killed = await write(deps, request, { attempts, update: killUpdate(attempts.sent.cid) }, signal);
  if (killed) return refusedOutcome(deps, request, { head: attempts.head, judged }, signal);
  const fate = await findFate(deps, attempts.sent, attempts.head, signal);
  if (fate.fate === 'landed') return landedOutcome(deps, request, { entry: fate.entry, head: attempts.head, judged }, signal);
  if (fate.fate === 'dead') return refusedOutcome(deps, request, { head: attempts.head, judged }, signal);
  return 'again';
}

function see(attempts: Attempts, head: Head): void {
  attempts.head = head;
  attempts.headIsFresh = true;
}

function decodeOld(request: CommitRequest, item: Item | undefined): Head {
  if (item === undefined) throw segmentGone(request);
  return decodeHead(item);
}

const segmentGone = (request: CommitRequest): KelpError => new KelpError('not-found', 'segment-not-found', `no segment ${request.segment}`);

/** Surely not applied, or unanswered: either way the same id may be sent again. */
function isRetryable(error: unknown): boolean {
  return error instanceof KelpError && ['throttled', 'conflict', 'unavailable', 'indefinite'].includes(error.kind);
}

/** Refused for the rate of the head's writes: the table takes no more of them, or others are under way. */
function isThrottled(error: unknown): boolean {
  return error instanceof KelpError && (error.kind === 'throttled' || error.kind === 'conflict');
}

/** `cause`: the last failure that was not the signal's own end; without one, only the caller's time is over. */
function endOfBudget(inFlight: boolean, signal: AbortSignal, cause?: unknown): KelpError {
  if (inFlight) return new KelpError('indefinite', 'indefinite', 'the commit was not answered in time; it may have landed', { cause });
  if (cause === undefined && signal.reason instanceof KelpError) return signal.reason;
  if (isThrottled(cause)) {
    const extra = { reason: 'segment' };
    return new KelpError('throttled', 'throttled', 'the segment takes no more commits now', { cause, retryAfterMs: 1_000, extra });
  }
  return new KelpError('unavailable', 'unavailable', 'the table does not answer', { cause, retryAfterMs: 1_000 });
}

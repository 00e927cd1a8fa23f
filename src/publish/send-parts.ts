import type { RecordedPart } from '../format/idempotency-item.ts';
import { KelpError } from '../model/errors.ts';
import { MOVES_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Hold } from './admit.ts';
import type { AttemptOutcome, Claimant } from './claim-uploads.ts';
import { claimParts, type HeldUploads, type Outcomes, type SubmitDeps, submittedParts } from './submit-uploads.ts';
import { encodeSlice, type PartOptions } from './encode-slice.ts';
import type { Part, PartOutcome } from './part.ts';
import type { PlaceDeps } from './place-slices.ts';
import type { Slice } from './slice.ts';

/** A part of a recorded request, and its messages. */
export type Recorded = { readonly slice: Slice; readonly part: RecordedPart };
export type SendDeps = PlaceDeps & SubmitDeps;
/** `claimant`: of a request with uploads. `recordVersion`: of the record that has these attempts. */
export type SendRequest = {
  readonly topic: Topic;
  readonly options: PartOptions;
  readonly hold: Hold;
  readonly claimant?: Claimant;
  readonly recordVersion: number;
};

/**
 * Sends the attempts of these parts, all in one object: a group of its own. After a merge, two of them may be of one segment,
 * under different ids; these take one object each, and so do those of different minutes. Never rejects.
 */
export async function sendParts(
  deps: SendDeps,
  request: SendRequest,
  parts: readonly Recorded[],
  signal: AbortSignal,
): Promise<ReadonlyMap<RecordedPart, AttemptOutcome>> {
  const outcomes: Outcomes = new Map();
  const held: HeldUploads = new Map();
  if (request.claimant !== undefined) await claimParts(deps, { ...request, claimant: request.claimant }, { parts, held, outcomes }, signal);
  const ready = parts.filter(({ part }) => !outcomes.has(part));
  const perSegment = [...Map.groupBy(ready, ({ part }) => part.range.segment).values()];
  const rounds = Math.max(0, ...perSegment.map((own) => own.length));
  const groups = Array.from({ length: rounds }, (_, round) => perSegment.flatMap((own) => own[round] ?? [])).flatMap(byMinute);
  await Promise.all(groups.map((group) => sendTogether(deps, request, { group, outcomes }, signal)));
  await submittedParts(deps, request.topic.id, { held, outcomes }, signal);
  return outcomes;
}

const byMinute = (group: readonly Recorded[]): Recorded[][] => [...Map.groupBy(group, ({ part }) => part.minute).values()];

/** Behind a floor, an object is uploaded anew under the same ids, unless its minute is the attempt's own. */
async function sendTogether(
  deps: SendDeps,
  request: SendRequest,
  { group, outcomes }: { readonly group: readonly Recorded[]; readonly outcomes: Outcomes },
  signal: AbortSignal,
): Promise<void> {
  const { topic, hold } = request;
  let left = await Promise.all(group.map((recorded) => encode(deps, request, recorded)));
  for (let move = 0; move <= MOVES_MAX && left.length > 0; move += 1) {
    const parts = left.map(({ encoded }) => encoded);
    const sent = await deps.groups
      .submit({ topic, parts, alone: true, hold }, signal)
      .catch((cause: unknown) => parts.map(() => notBegun(cause)));
    for (const [index, outcome] of sent.entries()) {
      const part = left[index]?.part;
      if (part !== undefined && !isBehindFloor(outcome, part)) outcomes.set(part, outcome);
    }
    left = left.filter(({ part }) => !outcomes.has(part));
  }
  for (const { part } of left) outcomes.set(part, { outcome: 'failed', error: changesTooFast() });
}

async function encode(
  deps: PlaceDeps,
  { options }: SendRequest,
  { slice, part }: Recorded,
): Promise<{ readonly part: RecordedPart; readonly encoded: Part }> {
  const { cid, tail, minute } = part;
  const recorded = { cid, tail, ...(minute === undefined ? {} : { minute }) };
  return { part, encoded: await encodeSlice(deps.compression, slice, { ...options, recorded }) };
}

const isBehindFloor = (outcome: PartOutcome, { minute }: RecordedPart): boolean =>
  minute === undefined && outcome.outcome === 'dead' && outcome.because === 'floor';

export const changesTooFast = (): KelpError =>
  new KelpError('unavailable', 'unavailable', 'the segments change too fast', { retryAfterMs: 1_000 });

/** The caller's end, or that of the broker: this handler has sent nothing. */
function notBegun(cause: unknown): PartOutcome {
  const error =
    cause instanceof KelpError ? cause : new KelpError('unavailable', 'unavailable', 'the time ended before it was sent', { cause });
  return { outcome: 'failed', error };
}

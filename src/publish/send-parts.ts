import type { RecordedPart } from '../format/idempotency-item.ts';
import { KelpError } from '../model/errors.ts';
import { MOVES_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Hold } from './admit.ts';
import { encodeSlice, type PartOptions } from './encode-slice.ts';
import type { Part, PartOutcome } from './part.ts';
import type { PlaceDeps } from './place-slices.ts';
import type { Slice } from './slice.ts';

/** A part of a request with an Idempotency-Key, and its messages. */
export type Recorded = { readonly slice: Slice; readonly part: RecordedPart };
type Request = { readonly topic: Topic; readonly options: PartOptions; readonly hold: Hold };
type Outcomes = Map<RecordedPart, PartOutcome>;

/**
 * Sends the attempts of these parts, all in one object: a group of its own. After a merge, two of them may be of one segment,
 * under different ids; these take one object each. Never rejects.
 */
export async function sendParts(
  deps: PlaceDeps,
  request: Request,
  parts: readonly Recorded[],
  signal: AbortSignal,
): Promise<ReadonlyMap<RecordedPart, PartOutcome>> {
  const outcomes: Outcomes = new Map();
  const perSegment = [...Map.groupBy(parts, ({ part }) => part.range.segment).values()];
  const rounds = Math.max(0, ...perSegment.map((own) => own.length));
  const groups = Array.from({ length: rounds }, (_, round) => perSegment.flatMap((own) => own[round] ?? []));
  await Promise.all(groups.map((group) => sendTogether(deps, request, { group, outcomes }, signal)));
  return outcomes;
}

/** Behind a floor, an object is uploaded anew under the same ids. */
async function sendTogether(
  deps: PlaceDeps,
  request: Request,
  { group, outcomes }: { readonly group: readonly Recorded[]; readonly outcomes: Outcomes },
  signal: AbortSignal,
): Promise<void> {
  const { topic, hold } = request;
  let left = await Promise.all(group.map((recorded) => encode(deps, request, recorded)));
  for (let move = 0; move <= MOVES_MAX && left.length > 0; move += 1) {
    const parts = left.map(({ encoded }) => encoded);
    const sent = await deps.groups
      .submit({ topic, parts, alone: true, hold }, signal)
      .catch((cause: unknown) => parts.map(() => ended(cause)));
    for (const [index, outcome] of sent.entries()) {
      const part = left[index]?.part;
      if (part !== undefined && !isBehindFloor(outcome)) outcomes.set(part, outcome);
    }
    left = left.filter(({ part }) => !outcomes.has(part));
  }
  for (const { part } of left) outcomes.set(part, { outcome: 'failed', error: changesTooFast() });
}

async function encode(
  deps: PlaceDeps,
  { options }: Request,
  { slice, part }: Recorded,
): Promise<{ readonly part: RecordedPart; readonly encoded: Part }> {
  const recorded = { cid: part.cid, tail: part.tail };
  return { part, encoded: await encodeSlice(deps.compression, slice, { ...options, recorded }) };
}

const isBehindFloor = (outcome: PartOutcome): boolean => outcome.outcome === 'dead' && outcome.because === 'floor';

export const changesTooFast = (): KelpError =>
  new KelpError('unavailable', 'unavailable', 'the segments change too fast', { retryAfterMs: 1_000 });

/** The caller's end, or that of the broker: what other handlers do under the same ids is not known. */
function ended(cause: unknown): PartOutcome {
  return { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', 'the time ended; ask again under the same key', { cause }) };
}

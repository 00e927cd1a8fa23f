import type { BrokerAddress } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import { FORWARD_SUSPECT_MS } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Clock } from '../ports/clock.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Heads } from '../state/heads.ts';
import type { Routes } from './routes.ts';

/** A forward that waits for its answer; `look`: somebody has changed the topic's segments. */
export type ForwardWait = { readonly topicName: string; readonly look: () => void };

export type ForwardWaitDeps = {
  readonly clock: Clock;
  readonly heads: Heads;
  readonly routes: Pick<Routes, 'suspect'>;
  readonly telemetry: Telemetry;
  readonly waits: Set<ForwardWait>;
};

export type Forwarded = { readonly topic: Topic; readonly segments: readonly SegmentId[]; readonly broker: BrokerAddress };

/** Made once: an abort without a reason makes an error with a stack. */
const ANSWERED = new Error('it was answered');
const GONE = new KelpError('unavailable', 'peer-gone', 'the other broker is dead, or serves the segment no more');

/**
 * A signal that ends with the caller's, or once nobody needs to wait for the other one's answer any more: it is known to be
 * dead, or one of the segments to be sealed, and still it doesn't answer.
 */
export function whileServed(
  deps: ForwardWaitDeps,
  { topic, segments, broker }: Forwarded,
  signal: AbortSignal,
): { readonly signal: AbortSignal; end(): void } {
  const over = new AbortController();
  const waiting = new AbortController();
  const onAbort = (): void => waiting.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const unlessOver = (): void => {
    if (!over.signal.aborted) waiting.abort(GONE);
  };
  const look = async (): Promise<void> => {
    if (!(await anySealed(deps, { topic, segments }, over.signal))) return;
    // Whoever lives tells what became of it: in a drain, nothing is unknown.
    await deps.clock.sleep(FORWARD_SUSPECT_MS, over.signal);
    unlessOver();
  };
  // What these can't find out, the answer tells, or the caller's end.
  const unseen = (error: unknown): void => {
    if (over.signal.aborted) return;
    deps.telemetry.count('kelp.forwards.unwatched', 1);
    deps.telemetry.log('warn', 'a forward could not be watched', { broker: broker.id, error });
  };
  const wait: ForwardWait = { topicName: topic.name, look: () => void look().catch(unseen) };
  deps.waits.add(wait);
  untilDead(deps, { topic, segments, broker }, over.signal).then(unlessOver, unseen);
  return {
    signal: waiting.signal,
    end() {
      signal.removeEventListener('abort', onAbort);
      deps.waits.delete(wait);
      over.abort(ANSWERED);
    },
  };
}

async function untilDead({ clock, routes }: ForwardWaitDeps, { topic, segments, broker }: Forwarded, signal: AbortSignal): Promise<void> {
  const isDead = async (): Promise<boolean> => {
    const [segment] = segments;
    return segment !== undefined && routes.suspect(topic, segment, broker);
  };
  do await clock.sleep(FORWARD_SUSPECT_MS, signal);
  while (!(await isDead()));
}

async function anySealed(
  { heads }: ForwardWaitDeps,
  { topic, segments }: Pick<Forwarded, 'topic' | 'segments'>,
  signal: AbortSignal,
): Promise<boolean> {
  const read = await Promise.all(segments.map((segment) => heads.read(topic.id, segment, signal)));
  return read.some((head) => head?.state === 'sealed');
}

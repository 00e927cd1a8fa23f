import type { BrokerAddress } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import { PEER_REQUEST_BYTES_MAX, TIMEOUT_MS_DEFAULT } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Heads } from '../state/heads.ts';
import { type ForwardWait, whileServed } from './forward-wait.ts';
import { linesOf } from './gather.ts';
import type { GroupCommit } from './group-commit.ts';
import { createLineTurns, type LineTurns, type Place } from './line-turns.ts';
import type { PartOutcome, Submission } from './part.ts';
import type { Publisher } from './publisher.ts';
import type { Routes } from './routes.ts';

export type ForwardDeps = {
  /** Commits here. */
  readonly groups: GroupCommit;
  readonly routes: Routes;
  readonly heads: Heads;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
};

/** Commits here or elsewhere. */
export type Forwarding = GroupCommit & Pick<Publisher, 'refreshed'>;

type Context = ForwardDeps & { readonly turns: LineTurns; readonly waits: Set<ForwardWait> };
type Brokers = readonly BrokerAddress[];
type Outcomes = readonly PartOutcome[];
/** What goes together, and to whom; nobody: it is committed here. */
type Trip = { readonly submission: Submission; readonly brokers: Brokers };

/** What framing adds, roughly. */
const HEAD_BYTES_MAX = 262_144;

/**
 * Commits here what this broker serves, and hands the rest to those that do: one hop, one request for all parts of a
 * submission that go to the same broker. What all of them have surely not received is committed here; what one of them may
 * have received goes nowhere else, unless it is a producer's, whose line decides. Submissions that go alone stay here: a
 * hop gains them nothing.
 */
export function createForwarding(deps: ForwardDeps): Forwarding {
  const context: Context = { ...deps, turns: createLineTurns(), waits: new Set() };
  return {
    refreshed(topicName) {
      for (const wait of context.waits) if (wait.topicName === topicName) wait.look();
    },
    submit(submission, signal) {
      const place = placeOf(context, submission, signal);
      const work = (): Promise<Outcomes> =>
        place === 'here' ? deps.groups.submit(submission, signal) : distribute(context, submission, signal);
      return inTurn(context, { submission, place }, work, signal);
    },
  };
}

/** Away is also what has to be asked for: nothing of its line may overtake it meanwhile. */
function placeOf({ routes }: Context, { topic, parts, alone }: Submission, signal: AbortSignal): Place {
  if (alone) return 'here';
  for (const part of parts) {
    const brokers = routes.of(topic, part.segment, signal);
    // It is asked for again when its turn has come, and fails then.
    if (brokers instanceof Promise) brokers.catch(() => undefined);
    if (brokers instanceof Promise || brokers.length > 0) return 'away';
  }
  return 'here';
}

/** A producer's batches wait for those before them; nothing else waits. */
function inTurn(
  { turns }: Context,
  { submission, place }: { readonly submission: Submission; readonly place: Place },
  work: () => Promise<Outcomes>,
  signal: AbortSignal,
): Promise<Outcomes> {
  // A producer's request is for one segment, and so has one line.
  const [line] = linesOf(submission);
  if (line === undefined) return work();
  const name = `${submission.topic.id}/${line}`;
  const end = (): void => turns.end(name);
  const begin = (): Promise<Outcomes> => {
    const done = work();
    done.then(end, end);
    return done;
  };
  const turn = turns.take(name, place, signal);
  return turn === undefined ? begin() : turn.then(begin);
}

async function distribute(context: Context, submission: Submission, signal: AbortSignal): Promise<Outcomes> {
  const { topic, parts } = submission;
  const brokers = await Promise.all(parts.map(async (part) => context.routes.of(topic, part.segment, signal)));
  signal.throwIfAborted();
  const trips = [...Map.groupBy(parts.keys(), (index) => brokers[index]?.[0]?.id)].map(([, indexes]) => ({
    indexes,
    trip: { submission: { ...submission, parts: indexes.flatMap((index) => parts[index] ?? []) }, brokers: brokers[indexes[0] ?? 0] ?? [] },
  }));
  const settled = await Promise.allSettled(trips.map(({ trip }) => travel(context, trip, signal)));
  const begun = settled.some(({ status }) => status === 'fulfilled');
  const outcomes: PartOutcome[] = [];
  for (const [at, { indexes }] of trips.entries()) {
    const one = settled[at];
    if (one?.status === 'rejected' && !begun) throw one.reason;
    for (const [i, index] of indexes.entries()) outcomes[index] = (one?.status === 'fulfilled' && one.value[i]) || notBegun(one);
  }
  return outcomes;
}

/** Of a part that was surely not sent, beside others that were. */
function notBegun(settled: PromiseSettledResult<Outcomes> | undefined): PartOutcome {
  const cause: unknown = settled?.status === 'rejected' ? settled.reason : undefined;
  return { outcome: 'failed', error: new KelpError('unavailable', 'unavailable', 'the time ended before it was sent', { cause }) };
}

function travel(context: Context, trip: Trip, signal: AbortSignal): Promise<Outcomes> {
  const { submission, brokers } = trip;
  if (brokers.length === 0 || isTooLarge(submission)) return context.groups.submit(submission, signal);
  return forward(context, trip, signal);
}

const isTooLarge = ({ parts }: Submission): boolean =>
  parts.reduce((sum, part) => sum + part.bytes, HEAD_BYTES_MAX) > PEER_REQUEST_BYTES_MAX;

async function forward(context: Context, trip: Trip, signal: AbortSignal): Promise<Outcomes> {
  for (const broker of trip.brokers) {
    const outcomes = await attempt(context, trip, broker, signal);
    if (outcomes !== undefined) return outcomes;
  }
  return context.groups.submit(trip.submission, signal);
}

/** Undefined: this one has surely taken nothing. Rejects with the signal's reason if nothing was sent. */
async function attempt(context: Context, trip: Trip, broker: BrokerAddress, signal: AbortSignal): Promise<Outcomes | undefined> {
  const { clock, routes } = context;
  const { topic, parts, endsMs } = trip.submission;
  const timeoutMs = endsMs === undefined ? TIMEOUT_MS_DEFAULT : endsMs - clock.monotonicMs();
  const wait = whileServed(context, { topic, segments: parts.map((part) => part.segment), broker }, signal);
  try {
    const outcomes = await routes.send(broker, { topic, parts, timeoutMs }, wait.signal);
    count(context, 'answered');
    return outcomes;
  } catch (error) {
    if (isCode(error, 'peer-refused')) routes.refused(broker);
    if (isCode(error, 'peer-refused') || isCode(error, 'peer-busy')) {
      count(context, error.code === 'peer-busy' ? 'busy' : 'refused');
      return undefined;
    }
    if (signal.aborted && error === signal.reason) {
      count(context, 'abandoned');
      throw error;
    }
    count(context, 'indefinite');
    return await afterUnknown(context, trip.submission, { error }, signal);
  } finally {
    wait.end();
  }
}

const isCode = (error: unknown, code: string): error is KelpError => error instanceof KelpError && error.code === code;

function count({ telemetry }: Context, outcome: 'answered' | 'refused' | 'busy' | 'indefinite' | 'abandoned'): void {
  telemetry.count('kelp.forwards', 1, { outcome });
}

/**
 * The other one may have taken them, and may still store them. Sent anew, a producer's messages can't be stored twice: its
 * line tells what became of them. Of all others nobody knows.
 */
async function afterUnknown(
  { groups }: Context,
  submission: Submission,
  { error }: { readonly error: unknown },
  signal: AbortSignal,
): Promise<Outcomes> {
  const unknown = maybeStored(error);
  const { parts } = submission;
  if (signal.aborted || !parts.every((part) => part.producer !== undefined)) return parts.map(() => unknown);
  const outcomes = await groups.submit(submission, signal).catch(() => parts.map(() => unknown));
  return outcomes.map((outcome) => (isFinal(outcome) ? outcome : unknown));
}

/** Not: what may yet come true by the copy that is on its way. A gap ends when what is missing arrives. */
function isFinal(outcome: PartOutcome): boolean {
  if (outcome.outcome === 'failed') return outcome.error.kind === 'indefinite';
  return outcome.outcome !== 'refused' || outcome.error.code !== 'sequence-gap';
}

function maybeStored(cause: unknown): PartOutcome {
  const message = 'another broker may have stored the messages; it has not said so';
  return { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', message, { cause }) };
}

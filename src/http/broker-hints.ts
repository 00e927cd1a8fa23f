import type { BrokerAddress } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import { HINTED_BYTES_MAX, HINTED_SEGMENTS_MAX } from '../model/limits.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { PublishResult } from '../publish/request.ts';
import { successorsIn } from '../model/segment-sealed.ts';
import type { Call } from './call.ts';
import type { KnownBrokers } from './dependencies.ts';

type Headers = Readonly<Record<string, string>>;

/** What a publish's answer says of brokers besides its results. */
export type BrokerHints = {
  /** `Kelp-Brokers`, for the segments of these results and the successors of those that are sealed; none if it would be empty. */
  headersOf(results: PublishResult): Headers;
  /** The error as a client gets it: successors have the addresses of their brokers. */
  addressed(error: KelpError): KelpError;
};

const NONE: Headers = {};

/** What may stand in the header: an origin of printable ASCII. A broker's odd url must not spoil what others have stored. */
const ORIGIN = /^[\x21-\x2b\x2d-\x7e]+$/;

/** Runs a publish, and sees to it that a problem says of brokers what an answer does. `segment`: the one that the request names. */
export async function withBrokerHints(
  known: KnownBrokers,
  { call, topic, segment }: { readonly call: Call; readonly topic: Topic; readonly segment: SegmentId | undefined },
  publish: (hints: BrokerHints) => Promise<Response>,
): Promise<Response> {
  const hints: BrokerHints = {
    headersOf: (results) => headersOf(servedBy(known, topic, results)),
    addressed: (error) => addressed(known, error),
  };
  try {
    return await publish(hints);
  } catch (error) {
    if (!(error instanceof KelpError)) throw error;
    const asked =
      segment === undefined || error.kind === 'not-found' ? [] : [{ segment, brokers: known.brokersOf?.(topic, segment) ?? [] }];
    call.onProblem(headersOf(successorsIn(error)?.map((range) => servedRange(known, range)) ?? asked));
    throw addressed(known, error);
  }
}

type Served = { readonly segment: SegmentId; readonly brokers: readonly BrokerAddress[] };

/** In order of the results. Thousands of messages are of one segment, or share one error: each of these is looked at once. */
function servedBy(known: KnownBrokers, topic: Topic, results: PublishResult): Served[] {
  const seen = new Set<SegmentId | KelpError>();
  const served = new Map<SegmentId, Served>();
  for (const result of results) {
    const shared = result instanceof KelpError ? result : result.segment;
    if (seen.has(shared)) continue;
    seen.add(shared);
    for (const one of servedIn(known, topic, result)) if (one.brokers.length > 0) served.set(one.segment, one);
    if (served.size >= HINTED_SEGMENTS_MAX) break;
  }
  return [...served.values()];
}

function servedIn(known: KnownBrokers, topic: Topic, result: PublishResult[number]): readonly Served[] {
  if (result instanceof KelpError) return (successorsIn(result) ?? []).map((range) => servedRange(known, range));
  const { segment } = result;
  return [{ segment, brokers: known.brokersOf?.(topic, segment) ?? [] }];
}

/** Ids of which this instance knows no address are left out. */
function servedRange({ addressOf }: KnownBrokers, { segment, brokers = [] }: SegmentRange): Served {
  return { segment, brokers: brokers.flatMap((id) => addressOf?.(id) ?? []) };
}

/** Within its bounds; what doesn't fit is left out. */
function headersOf(served: readonly Served[]): Headers {
  let text = '';
  for (const { segment, brokers } of served.slice(0, HINTED_SEGMENTS_MAX)) {
    const urls = brokers.map(({ url }) => url).filter((url) => ORIGIN.test(url));
    const one = `${text === '' ? '' : ', '}${segment} ${urls.join(' ')}`;
    if (urls.length > 0 && text.length + one.length <= HINTED_BYTES_MAX) text += one;
  }
  return text === '' ? NONE : { 'kelp-brokers': text };
}

/** The error as a client gets it: successors have the addresses of their brokers, as far as this instance knows them. */
export function addressed(known: KnownBrokers, error: KelpError): KelpError {
  const ranges = successorsIn(error);
  if (ranges === undefined) return error;
  const successors = ranges.map((range) => ({
    segment: range.segment,
    lo: range.lo,
    hi: range.hi,
    brokers: servedRange(known, range).brokers.map(({ id, url }) => ({ id, url })),
  }));
  const { kind, code, message, retryAfterMs } = error;
  return new KelpError(kind, code, message, {
    cause: error.cause,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    extra: { ...error.extra, successors: withinBytes(successors) },
  });
}

/** A problem that is too large loses all of its own members: better the brokers than the successors. */
function withinBytes<T extends { readonly brokers: readonly BrokerAddress[] }>(successors: readonly T[]): readonly T[] {
  if (JSON.stringify(successors).length <= HINTED_BYTES_MAX) return successors;
  return successors.map((range) => ({ ...range, brokers: [] }));
}

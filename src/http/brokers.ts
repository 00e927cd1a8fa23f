import type { BrokerStatus } from '../control/control.ts';
import { readJson, nextKind, readString } from '../format/json-reader.ts';
import { type AssignedRange, type Assignment, type BrokerAddress, isDraining } from '../model/broker.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { type BrokerId, isBrokerId } from '../model/ids.ts';
import { DRAIN_PER_SECOND_DEFAULT, DRAIN_PER_SECOND_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import { jsonText, okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { ControlDependencies } from './dependencies.ts';
import { readCount, readOnlyMember } from './json-members.ts';
import { JSON_MEDIA, negotiate } from './media-type.ts';
import { optionalBody } from './optional-body.ts';
import { parseQuery } from './query.ts';
import { segmentIdOf, STALE_FOR_READS, withTopic } from './with-topic.ts';

const text = new TextDecoder();

export function createListBrokers({ control }: ControlDependencies): Handler {
  return async ({ context, signal }) => {
    negotiate(context, [JSON_MEDIA]);
    parseQuery(context.req.url, []);
    const brokers = await control.brokers(signal);
    return okJson({ brokers: brokers.map(documentOf) });
  };
}

export function createGetLeader({ control }: ControlDependencies): Handler {
  return async ({ context, signal }) => {
    negotiate(context, [JSON_MEDIA]);
    parseQuery(context.req.url, []);
    const leader = await control.leader(signal);
    if (leader === undefined) throw new KelpError('unavailable', 'unavailable', 'nobody leads at the moment');
    return okJson({ leader: addressOf(leader), epoch: leader.epoch });
  };
}

/** Who serves a segment; chosen now if nobody does yet. */
export function createSegmentBrokers(deps: ControlDependencies): Handler {
  const { topics, control } = deps;
  return async (call) => {
    const segment = segmentIdOf(call);
    const suspect = parseSuspect(await optionalBody(deps, call));
    const options = suspect === undefined ? {} : { suspect };
    const assignment = await withTopic(call, { topics, stale: STALE_FOR_READS }, (topic) =>
      control.assignment(topic, segment, options, call.signal),
    );
    return okJson(assignmentOf(assignment));
  };
}

export function createDrainBroker(deps: ControlDependencies): Handler {
  return async (call) => {
    const broker = call.context.req.param('broker') ?? '';
    if (!isBrokerId(broker)) throw noBroker('broker');
    const perSecond = parsePerSecond(await optionalBody(deps, call));
    const { segments } = await deps.control.drain(broker, { perSecond }, call.signal);
    return jsonText(202, JSON.stringify({ broker, segments }));
  };
}

const noBroker = (field: string): KelpError => invalid('invalid-broker', field, 'a broker is 1 to 32 of a-z 0-9 -, the first no hyphen');

/** `{"suspect": id}`. Errors `invalid-json`, `invalid-request`, `invalid-broker`. */
function parseSuspect(body: Bytes | undefined): BrokerId | undefined {
  if (body === undefined) return undefined;
  const reader = readJson(body);
  let suspect: BrokerId | undefined;
  readOnlyMember(reader, 'suspect', () => {
    const id = nextKind(reader) === 'string' ? text.decode(readString(reader)) : '';
    if (!isBrokerId(id)) throw noBroker('suspect');
    suspect = id;
  });
  return suspect;
}

/** `{"perSecond": n}`. Errors `invalid-json`, `invalid-request`, `invalid-per-second`. */
function parsePerSecond(body: Bytes | undefined): number {
  if (body === undefined) return DRAIN_PER_SECOND_DEFAULT;
  const reader = readJson(body);
  let perSecond: number | undefined;
  readOnlyMember(reader, 'perSecond', () => {
    perSecond = readCount(reader, DRAIN_PER_SECOND_MAX);
    if (perSecond === undefined) throw invalid('invalid-per-second', 'perSecond', `an integer from 1 to ${DRAIN_PER_SECOND_MAX}`);
  });
  return perSecond ?? DRAIN_PER_SECOND_DEFAULT;
}

// Member by member: records have more in them than is promised.

const addressOf = ({ id, url }: BrokerAddress): BrokerAddress => ({ id, url });

const documentOf = (broker: BrokerStatus): Record<string, unknown> => ({
  ...addressOf(broker),
  kind: broker.kind,
  zone: broker.zone,
  draining: isDraining(broker),
  segments: broker.segments,
  load: loadOf(broker.load),
  startedMs: broker.startedMs,
  heartbeatMs: broker.heartbeatMs,
});

const loadOf = (load: BrokerStatus['load']): BrokerStatus['load'] => ({
  requests: load.requests,
  bytesPerSecond: load.bytesPerSecond,
  messagesPerSecond: load.messagesPerSecond,
  commitMs: load.commitMs,
  eventLoopDelayMs: load.eventLoopDelayMs,
  busyPercent: load.busyPercent,
  memoryBytes: load.memoryBytes,
});

/** `successors` are there for a sealed segment only, of which nobody is a broker any more. */
const assignmentOf = ({ segment, brokers, successors }: Assignment): Record<string, unknown> => ({
  segment,
  brokers: brokers.map(addressOf),
  ...(successors.length === 0 ? {} : { successors: successors.map(successorOf) }),
});

export const successorOf = ({ segment, lo, hi, addresses }: AssignedRange): Record<string, unknown> => ({
  segment,
  lo,
  hi,
  brokers: addresses.map(addressOf),
});

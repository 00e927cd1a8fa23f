import { idempotencyKey } from '../../../src/format/item-key.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { UploadId } from '../../../src/model/ids.ts';
import type { Message } from '../../../src/model/message.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';
import type { SegmentRange, Topic } from '../../../src/model/topic.ts';
import type { Item, MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { CommitDeps } from '../../../src/publish/commit-deps.ts';
import { type DeduplicateDeps, publishOnce, type RecordedRequest } from '../../../src/publish/deduplicate.ts';
import { recordInTable, type RequestRecord } from '../../../src/publish/request-record.ts';
import { placeSlices } from '../../../src/publish/place-slices.ts';
import type { Placed } from '../../../src/publish/request.ts';
import { cut, type Slice, wholeContent } from '../../../src/publish/slice.ts';
import type { Process, ProcessState, Result } from '../engine/process.ts';
import { type BrokerClock, brokerDeps, SEGMENT, TOPIC, topicItem, WHOLE } from './broker.ts';
import { noCompression, singleGroups } from './groups.ts';
import { asIndefinite } from './publisher.ts';

const NO_HOLD = { share: () => {}, release: () => {} };
const utf8 = new TextEncoder();

/** Keys in the lower and the upper half of the partitions. */
export const LOW_KEY = 'k0';
export const HIGH_KEY = 'k1';

export type Request = BrokerClock & {
  readonly name: string;
  readonly messages: readonly { readonly message: string; readonly key: string; readonly upload?: UploadId }[];
  /** Open ranges, as this broker knows them. */
  readonly ranges?: readonly SegmentRange[];
  readonly matchTail?: number;
  readonly known?: readonly Item[];
  /** Nothing that it asks fails: whoever else was stopped, its messages are stored. */
  readonly mustStore?: boolean;
};

/** A broker that brings plain messages into segments, and after a seal to the successors. */
export function placer(request: Request, mayBegin?: Process['mayBegin']): Process {
  return answering(request, mayBegin, (table, signal) => {
    const deps = brokerDeps(table, request, request.known);
    const place = { groups: singleGroups(deps, request.name), compression: noCompression };
    const placement = {
      topic: topicOf(request),
      slices: cut(whole(request), rangesOf(request)),
      options: optionsOf(request),
      hold: NO_HOLD,
      movable: request.matchTail === undefined,
    };
    return placeSlices(place, placement, signal);
  });
}

/** A broker that handles a request with an Idempotency-Key; all handlers of the same messages have the same key. */
export function handler(request: Request, mayBegin?: Process['mayBegin']): Process {
  return answering(request, mayBegin, (table, signal) => {
    const deps = brokerDeps(table, request, request.known);
    return publishOnce(depsOf(deps, request), { ...recordedOf(request), record: keyedRecord(deps) }, signal);
  });
}

export const depsOf = (deps: CommitDeps, { name }: Request): DeduplicateDeps => ({
  ...deps,
  groups: singleGroups(deps, name),
  compression: noCompression,
});
export const keyedRecord = (deps: CommitDeps): RequestRecord => recordInTable(deps, idempotencyKey(TOPIC, 'key'), 'hash');
export const recordedOf = (request: Request): Omit<RecordedRequest, 'record'> => ({
  topic: topicOf(request),
  whole: whole(request),
  ranges: rangesOf(request),
  options: optionsOf(request),
  hold: NO_HOLD,
});

export function answering(
  request: Request,
  mayBegin: Process['mayBegin'],
  publish: (table: MetadataTable, signal: AbortSignal) => Promise<readonly (Placed | KelpError)[]>,
  resultOfError: (message: string, error: KelpError) => Result = refusal,
): Process {
  return {
    name: request.name,
    start: {},
    phases: [
      async (table, _state, signal) => {
        try {
          return answered(request, await publish(table, signal), resultOfError);
        } catch (error) {
          // The signal's own reason: nothing was sent.
          const known = error === signal.reason ? new KelpError('unavailable', 'aborted', 'the caller left') : asIndefinite(error);
          // What is thrown speaks of this handler alone, which has uploaded nothing: another one may store the message.
          return { results: request.messages.map(({ message }) => ({ ...refusal(message, known), objects: [] })) };
        }
      },
    ],
    mayFail: true,
    ...(mayBegin === undefined ? {} : { mayBegin }),
  };
}

function answered(
  request: Request,
  results: readonly (Placed | KelpError)[],
  resultOfError: (message: string, error: KelpError) => Result,
): ProcessState {
  const missing = request.messages.find((_, index) => results[index] === undefined);
  const known = request.messages.flatMap(({ message }, index) => resultOf(message, results[index], resultOfError) ?? []);
  const kept = request.mustStore === true ? known.find(({ result }) => result !== 'acked') : undefined;
  const faults = [
    ...(missing === undefined ? [] : [`no-result: ${missing.message} has neither a place nor an error`]),
    ...(kept === undefined ? [] : [`unwritable: ${kept.message} (${kept.code}) has nowhere to go`]),
  ];
  return { results: known, ...(faults.length === 0 ? {} : { faults }) };
}

function resultOf(
  message: string,
  result: Placed | KelpError | undefined,
  resultOfError: (message: string, error: KelpError) => Result,
): Result | undefined {
  if (result === undefined) return undefined;
  if (result instanceof KelpError) return resultOfError(message, result);
  const { segment, offset, duplicate } = result;
  return { message, result: duplicate ? 'duplicate' : 'acked', segment, ...(offset === null ? {} : { offset }) };
}

/** These messages have one sender, so a refusal speaks of whatever upload of them. */
export const refusal = (message: string, error: KelpError): Result => ({
  message,
  result: error.kind === 'indefinite' ? 'unknown' : 'refused',
  code: error.code,
});

function whole(request: Request): Slice {
  const messages = request.messages.map(({ message, key, upload }): Message => ({
    key: utf8.encode(key),
    value: utf8.encode(`<${message}>`),
    headers: [],
    timestampMs: 0,
    ...(upload === undefined ? {} : { upload }),
  }));
  return wholeContent({ kind: 'messages', messages }, { segment: SEGMENT, lo: 0, hi: PARTITIONS - 1 });
}

const rangesOf = (request: Request): readonly SegmentRange[] => request.ranges ?? [WHOLE];
const optionsOf = ({ matchTail }: Request): { readonly matchTail?: number } => (matchTail === undefined ? {} : { matchTail });

const topicOf = (request: Request): Topic => topicItem(rangesOf(request));

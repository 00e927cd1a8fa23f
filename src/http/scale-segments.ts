import { type JsonReader, firstElement, nextElement, nextKind, readJson, readString } from '../format/json-reader.ts';
import type { AssignedRange } from '../model/broker.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { isSegmentId, type SegmentId } from '../model/ids.ts';
import { CONTROL_REQUEST_BYTES_MAX, PARTITIONS } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import { okJson } from './answer.ts';
import { addressed } from './broker-hints.ts';
import { successorOf } from './brokers.ts';
import type { Call, Handler } from './call.ts';
import type { AppDependencies, ControlDependencies } from './dependencies.ts';
import { readCount, readOnlyMember } from './json-members.ts';
import { requireJson } from './media-type.ts';
import { bodyOf } from './publish-body.ts';
import { segmentIdOf, STALE_FOR_READS, withTopic } from './with-topic.ts';

const text = new TextDecoder();

export function createSplitSegment(deps: ControlDependencies): Handler {
  return async (call) => {
    const segment = segmentIdOf(call);
    const at = parseAt(await jsonBody(deps, call));
    const ranges = await change(deps, call, (topic) => deps.control.split(topic, segment, at, call.signal));
    return okJson({ segment, successors: ranges.map(successorOf) });
  };
}

export function createMergeSegments(deps: ControlDependencies): Handler {
  return async (call) => {
    const segments = parseSegments(await jsonBody(deps, call));
    const ranges = await change(deps, call, (topic) => deps.control.merge(topic, segments, call.signal));
    return okJson({ segments, successors: ranges.map(successorOf) });
  };
}

function jsonBody(deps: AppDependencies, call: Call): Promise<Bytes> {
  requireJson(call.context.req.header('content-type'));
  return bodyOf(deps, call, CONTROL_REQUEST_BYTES_MAX);
}

/** Whoever is told of successors is told where they are, too. */
async function change(
  deps: ControlDependencies,
  call: Call,
  make: (topic: Topic) => Promise<readonly AssignedRange[]>,
): Promise<readonly AssignedRange[]> {
  try {
    return await withTopic(call, { topics: deps.topics, stale: STALE_FOR_READS }, make);
  } catch (error) {
    throw error instanceof KelpError ? addressed(deps, error) : error;
  }
}

/** `{"at": partition}`. Errors `invalid-json`, `invalid-request`, `invalid-at`: an upper part that begins at 0 leaves no lower one. */
function parseAt(body: Bytes): number {
  const reader = readJson(body);
  let at: number | undefined;
  readOnlyMember(reader, 'at', () => (at = readCount(reader, PARTITIONS - 1)));
  if (at === undefined) throw invalid('invalid-at', 'at', `the first partition of the upper part, an integer from 1 to ${PARTITIONS - 1}`);
  return at;
}

/** `{"segments": [id, id]}`. Errors `invalid-json`, `invalid-request`, `invalid-segments`. */
function parseSegments(body: Bytes): readonly [SegmentId, SegmentId] {
  const reader = readJson(body);
  let ids: readonly SegmentId[] = [];
  readOnlyMember(reader, 'segments', () => (ids = readIds(reader)));
  const [one, other] = ids;
  if (one === undefined || other === undefined || ids.length > 2 || one === other) throw wrongSegments();
  return [one, other];
}

function readIds(reader: JsonReader): readonly SegmentId[] {
  if (nextKind(reader) !== 'array') throw wrongSegments();
  const ids: SegmentId[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    const id = nextKind(reader) === 'string' ? text.decode(readString(reader)) : '';
    if (!isSegmentId(id)) throw wrongSegments();
    ids.push(id);
  }
  return ids;
}

const wrongSegments = (): KelpError => invalid('invalid-segments', 'segments', 'the ids of two segments');

import type { TruncateTo } from '../archive/retention/truncate.ts';
import { type JsonReader, nextKind, readJson, readSlice, readString } from '../format/json-reader.ts';
import { invalid } from '../model/errors.ts';
import { isSegmentId, type SegmentId } from '../model/ids.ts';
import { CONTROL_REQUEST_BYTES_MAX, TIMESTAMP_MS_MAX, WAIT_MARGIN_MS } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { ReadingDependencies } from './dependencies.ts';
import { readDryRun, readMembers } from './json-members.ts';
import { requireJson } from './media-type.ts';
import { bodyOf } from './publish-body.ts';
import { parseInteger, parseQuery } from './query.ts';
import { STALE_FOR_READS, withTopic } from './with-topic.ts';

type Wanted = { readonly to: TruncateTo; readonly dryRun: boolean };

const text = new TextDecoder();

/** Ends a moment before its caller's time, so that it can say how far it got. No query: `?dryRun=true` would not be one. */
export function createTruncateTopic(deps: ReadingDependencies): Handler {
  const { topics, oldMessages, clock } = deps;
  return async (call) => {
    parseQuery(call.context.req.url, []);
    requireJson(call.context.req.header('content-type'));
    const wanted = parseWanted(await bodyOf(deps, call, CONTROL_REQUEST_BYTES_MAX));
    const soon = clock.deadline(Math.max(0, call.remainingMs() - WAIT_MARGIN_MS));
    const signal = AbortSignal.any([call.signal, soon]);
    const truncated = await withTopic(call, { topics, stale: STALE_FOR_READS }, (topic) => oldMessages.truncate(topic, wanted, signal));
    const segments = truncated.segments.map(({ segment, offset, from, start, tail }) => ({ segment, offset, from, start, tail }));
    return okJson({ dryRun: wanted.dryRun, complete: truncated.complete, segments });
  };
}

/**
 * `{"segment", "offset"}` or `{"timestamp"}`, of one `segment` or of all, and `dryRun`. Errors `invalid-json`, `invalid-request`,
 * `invalid-segment`, `invalid-offset`, `invalid-timestamp`, `invalid-dry-run`.
 */
function parseWanted(body: Bytes): Wanted {
  const reader = readJson(body);
  const given: { segment?: SegmentId; offset?: number; timestampMs?: number; dryRun?: boolean } = {};
  readMembers(
    reader,
    new Map<string, () => void>([
      ['segment', () => (given.segment = readSegment(reader))],
      ['offset', () => (given.offset = readInteger(reader, 'offset', Number.MAX_SAFE_INTEGER))],
      ['timestamp', () => (given.timestampMs = readInteger(reader, 'timestamp', TIMESTAMP_MS_MAX))],
      ['dryRun', () => (given.dryRun = readDryRun(reader))],
    ]),
  );
  const { segment, offset, timestampMs, dryRun = false } = given;
  if (timestampMs !== undefined && offset === undefined) {
    return { to: segment === undefined ? { timestampMs } : { segment, timestampMs }, dryRun };
  }
  if (segment === undefined || offset === undefined || timestampMs !== undefined) {
    throw invalid('invalid-request', '', 'a segment and an offset, or a timestamp');
  }
  return { to: { segment, offset }, dryRun };
}

function readSegment(reader: JsonReader): SegmentId {
  const id = nextKind(reader) === 'string' ? text.decode(readString(reader)) : '';
  if (!isSegmentId(id)) throw invalid('invalid-segment', 'segment', 'a segment id is s and seven of 0-9 a-z');
  return id;
}

function readInteger(reader: JsonReader, name: string, max: number): number {
  const value = parseInteger(text.decode(readSlice(reader)));
  if (value === undefined || value > max) throw invalid(`invalid-${name}`, name, `an integer from 0 to ${max}`);
  return value;
}

import type { ReadBounds, ReadFrom } from '../consume/page.ts';
import { invalid } from '../model/errors.ts';
import {
  READ_BYTES_DEFAULT,
  READ_BYTES_MAX,
  READ_MESSAGES_DEFAULT,
  READ_MESSAGES_MAX,
  TIMESTAMP_MS_MAX,
  WAIT_MARGIN_MS,
  WAIT_MS_MAX,
} from '../model/limits.ts';
import {
  INLINE_BYTES_MAX,
  REFERENCES_BATCHES_MAX,
  REFERENCES_BYTES_DEFAULT,
  REFERENCES_BYTES_MAX,
  REFERENCES_MESSAGES_DEFAULT,
  REFERENCES_MESSAGES_MAX,
} from '../model/upload-limits.ts';
import type { Call } from './call.ts';
import type { HttpLimits } from './dependencies.ts';
import { integerParameter, type Query } from './query.ts';

export const SEGMENT_READ_PARAMETERS = ['offset', 'timestamp', 'from', 'limit', 'maxBytes', 'waitMs', 'inlineBytes'] as const;
export const TOPIC_READ_PARAMETERS = ['cursor', 'limit', 'maxBytes', 'waitMs', 'inlineBytes'] as const;

const PLACES = ['offset', 'timestamp', 'from'] as const;

/** Where a segment read begins; the beginning if the request doesn't say. */
export function readFromOf(query: Query): ReadFrom {
  const given = PLACES.filter((name) => query.has(name));
  if (given.length > 1) throw invalid('invalid-query', given[1] ?? 'query', `one of ${PLACES.join(', ')}`);
  const offset = integerParameter(query, 'offset', { min: 0, max: Number.MAX_SAFE_INTEGER });
  if (offset !== undefined) return { offset };
  const timestampMs = integerParameter(query, 'timestamp', { min: 0, max: TIMESTAMP_MS_MAX });
  if (timestampMs !== undefined) return { timestampMs };
  const from = query.get('from') ?? 'earliest';
  if (from !== 'earliest' && from !== 'latest') throw invalid('invalid-from', 'from', 'earliest or latest');
  return from;
}

/**
 * How much a read may bring and how long it may wait. What is allowed is the same everywhere; an endpoint that can do less
 * (GET /v1 says so) brings less. A wait ends before the caller's deadline does: nothing new is an answer, not a failure.
 */
export function readBoundsOf(call: Call, query: Query, limits: HttpLimits): ReadBounds {
  const messagesMax = integerParameter(query, 'limit', { min: 1, max: READ_MESSAGES_MAX }) ?? READ_MESSAGES_DEFAULT;
  const bytesMax = integerParameter(query, 'maxBytes', { min: 1, max: READ_BYTES_MAX }) ?? READ_BYTES_DEFAULT;
  return { messagesMax, bytesMax: Math.min(bytesMax, limits.readBytesMax), waitMs: waitMsOf(call, query, limits) };
}

/** The same of references, which hold none of the messages: any endpoint gives as many. */
export function referenceBoundsOf(call: Call, query: Query, limits: HttpLimits): ReadBounds {
  const messagesMax = integerParameter(query, 'limit', { min: 1, max: REFERENCES_MESSAGES_MAX }) ?? REFERENCES_MESSAGES_DEFAULT;
  const bytesMax = integerParameter(query, 'maxBytes', { min: 1, max: REFERENCES_BYTES_MAX }) ?? REFERENCES_BYTES_DEFAULT;
  return { messagesMax, bytesMax, batchesMax: REFERENCES_BATCHES_MAX, waitMs: waitMsOf(call, query, limits) };
}

/** Uploads of at most so many bytes are to come with them; 0: none. */
export const inlineBytesOf = (query: Query): number => integerParameter(query, 'inlineBytes', { min: 0, max: INLINE_BYTES_MAX }) ?? 0;

function waitMsOf(call: Call, query: Query, limits: HttpLimits): number {
  const waitMs = integerParameter(query, 'waitMs', { min: 0, max: WAIT_MS_MAX }) ?? 0;
  const waits = call.context.req.method === 'HEAD' ? 0 : Math.min(waitMs, limits.waitMsMax, call.remainingMs() - WAIT_MARGIN_MS);
  return Math.max(0, Math.floor(waits));
}

import type { Context } from 'hono';
import { invalid } from '../model/errors.ts';
import { isSegmentId, type SegmentId } from '../model/ids.ts';
import { IDEMPOTENCY_KEY_BYTES_MAX, PRODUCER_ID_LENGTH_MAX, TIMEOUT_MS_DEFAULT, TIMEOUT_MS_MAX } from '../model/limits.ts';
import type { ProducerStamp } from '../publish/request.ts';
import { parseInteger } from './query.ts';

/** What the headers of a publish ask for besides storing. */
export type PublishOptions = {
  readonly segment?: SegmentId;
  readonly producer?: ProducerStamp;
  readonly matchTail?: number;
  readonly idempotencyKey?: string;
};

const PRINTABLE = /^[\x21-\x7e][\x20-\x7e]*$/;
const PRODUCER_ID = /^[A-Za-z0-9._-]+$/;
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const refused = (field: string, message: string): Error => invalid('invalid-header', field, message);

/** How long the caller waits, in milliseconds. */
export function timeoutMsOf(context: Context): number {
  const text = context.req.header('kelp-timeout-ms');
  if (text === undefined) return TIMEOUT_MS_DEFAULT;
  const value = parseInteger(text);
  if (value === undefined || value < 1 || value > TIMEOUT_MS_MAX) {
    throw refused('Kelp-Timeout-Ms', `an integer from 1 to ${TIMEOUT_MS_MAX}`);
  }
  return value;
}

/** Error `invalid-header`, naming the header. */
export function publishOptionsOf(context: Context): PublishOptions {
  const segment = segmentOf(context);
  const producer = producerOf(context);
  const matchTail = integerOf(context, 'Kelp-Match-Tail');
  const idempotencyKey = idempotencyKeyOf(context);
  if (producer !== undefined && segment === undefined) throw refused('Kelp-Segment', 'a producer counts by segment: name it');
  if (producer !== undefined && idempotencyKey !== undefined) {
    throw refused('Idempotency-Key', 'a producer makes its requests repeatable already: send one of the two');
  }
  return {
    ...(segment === undefined ? {} : { segment }),
    ...(producer === undefined ? {} : { producer }),
    ...(matchTail === undefined ? {} : { matchTail }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

function segmentOf(context: Context): SegmentId | undefined {
  const text = context.req.header('kelp-segment');
  if (text === undefined) return undefined;
  if (!isSegmentId(text)) throw refused('Kelp-Segment', 'a segment id is s and seven of 0-9 a-z');
  return text;
}

function producerOf(context: Context): ProducerStamp | undefined {
  const producer = context.req.header('kelp-producer-id');
  const epoch = integerOf(context, 'Kelp-Producer-Epoch');
  const sequence = integerOf(context, 'Kelp-Producer-Sequence');
  if (producer === undefined && epoch === undefined && sequence === undefined) return undefined;
  if (producer === undefined) throw refused('Kelp-Producer-Id', 'the three Kelp-Producer headers come together');
  if (epoch === undefined) throw refused('Kelp-Producer-Epoch', 'the three Kelp-Producer headers come together');
  if (sequence === undefined) throw refused('Kelp-Producer-Sequence', 'the three Kelp-Producer headers come together');
  if (!PRODUCER_ID.test(producer) || producer.length > PRODUCER_ID_LENGTH_MAX) {
    throw refused('Kelp-Producer-Id', `1 to ${PRODUCER_ID_LENGTH_MAX} of A-Z a-z 0-9 . _ -`);
  }
  return { producer, epoch, sequence };
}

function idempotencyKeyOf(context: Context): string | undefined {
  const text = context.req.header('idempotency-key');
  if (text === undefined) return undefined;
  if (!PRINTABLE.test(text) || text.length > IDEMPOTENCY_KEY_BYTES_MAX) {
    throw refused('Idempotency-Key', `1 to ${IDEMPOTENCY_KEY_BYTES_MAX} printable ASCII characters`);
  }
  return text;
}

function integerOf(context: Context, name: string): number | undefined {
  const text = context.req.header(name);
  if (text === undefined) return undefined;
  const value = parseInteger(text);
  if (value === undefined) throw refused(name, 'an integer from 0 to 9007199254740991, in digits alone');
  return value;
}

/** The trace that the caller is part of; what isn't valid is as good as none, says the standard. */
export function traceParentOf(context: Context): string | undefined {
  const text = context.req.header('traceparent');
  return text !== undefined && TRACE_PARENT.test(text) ? text : undefined;
}

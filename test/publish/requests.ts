import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Message } from '../../src/model/message.ts';
import type { Topic, TopicSettings } from '../../src/model/topic.ts';
import type { Placed, PublishRequest, PublishResult } from '../../src/publish/request.ts';

// Requests as tests write them.

const encoder = new TextEncoder();

export const oneSegment: TopicSettings = { partitionKey: 'key', segments: 1, replicas: 2 };

export function message(key: string, value: string, timestampMs = 1_700_000_000_000): Message {
  return { key: encoder.encode(key), value: encoder.encode(value), headers: [], timestampMs };
}

/** Messages with these values, all with the key `a`, or keyed as in `['k0', 'value']`. */
export function publishOf(values: readonly (string | readonly [key: string, value: string])[]): PublishRequest {
  const messages = values.map((value) => (typeof value === 'string' ? message('a', value) : message(value[0], value[1])));
  return { content: { kind: 'messages', messages } };
}

/** The same values as one request of a producer in a segment. */
export function produced(
  values: readonly string[],
  stamp: { readonly segment: SegmentId; readonly producer?: string; readonly epoch?: number; readonly sequence: number },
): PublishRequest {
  const { segment, producer = 'p', epoch = 0, sequence } = stamp;
  return { ...publishOf(values), segment, producer: { producer, epoch, sequence } };
}

export function keyed(values: readonly (string | readonly [key: string, value: string])[], key: string): PublishRequest {
  return { ...publishOf(values), idempotency: { key, requestHash: JSON.stringify(values) } };
}

export function firstSegment(topic: Topic): SegmentId {
  const [range] = topic.open;
  if (range === undefined) throw new Error('the topic has no open segment');
  return range.segment;
}

/** Each result in short: `s0000000:0`, `s0000000:0 again`, or the error's code. */
export function brief(result: PublishResult): string[] {
  return result.map((one) => (one instanceof KelpError ? one.code : describe(one)));
}

const describe = ({ segment, offset, duplicate }: Placed): string => `${segment}:${offset}${duplicate ? ' again' : ''}`;

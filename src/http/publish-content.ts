import { hash } from 'node:crypto';
import { invalid, KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { PublishContent, PublishRequest } from '../publish/request.ts';
import type { PublishOptions } from './request-headers.ts';

/** What is to be published. `inRequest`: an error about an upload, with the place where the request has it. */
export type Parsed = {
  readonly content: PublishContent;
  readonly options: PublishOptions;
  readonly inRequest?: (error: unknown) => unknown;
};

/** Everything that makes a repeated request the same one, besides its body. `what` is asked for only if that matters. */
export type Sameness = { readonly what: () => string; readonly options: PublishOptions; readonly body: Bytes };

/** What the engine is asked for. Error `invalid-header`: an expected tail of no certain segment. */
export function publishRequestOf(
  topic: Topic,
  content: PublishContent,
  sameness: Sameness & { readonly timeoutMs: number },
): PublishRequest {
  const { producer, matchTail, idempotencyKey } = sameness.options;
  const segment = sameness.options.segment ?? (matchTail === undefined ? undefined : onlySegment(topic));
  return {
    content,
    timeoutMs: sameness.timeoutMs,
    ...(segment === undefined ? {} : { segment }),
    ...(producer === undefined ? {} : { producer }),
    ...(matchTail === undefined ? {} : { matchTail }),
    ...(idempotencyKey === undefined ? {} : { idempotency: { key: idempotencyKey, requestHash: requestHash(sameness) } }),
  };
}

function onlySegment({ open }: Topic): PublishRequest['segment'] {
  const [only] = open;
  if (only === undefined || open.length > 1) throw invalid('invalid-header', 'Kelp-Segment', 'a tail is that of one segment: name it');
  return only.segment;
}

/** Over the body as it was sent: a time that the broker put in, or a trace, may differ in a repeat. */
function requestHash({ what, options, body }: Sameness): string {
  const head = JSON.stringify([what(), options.segment ?? null, options.matchTail ?? null]);
  const bytes = Buffer.concat([Buffer.from(`${head}\n`), body]);
  return hash('sha256', bytes);
}

/** Before the body is read: what can't be taken needn't be sent. */
export function refuseIfFull(publisher: Publisher): void {
  if (publisher.isFull()) throw new KelpError('unavailable', 'unavailable', 'this broker takes no messages at the moment');
}

/** The topic of a request that names it, once; the body is read once, whatever comes of the topic. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

import * as z from 'zod/mini';
import { decodeUtf8, encodeUtf8 } from '../format/utf8.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { isSegmentId, isTopicId, isTopicName, type SegmentId, type TopicId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { PeerOperation } from '../ports/peers.ts';
import { decodeForward, encodeOutcomes, type Forwarded } from './forward-codec.ts';
import type { Publisher } from './publisher.ts';

export type PeerPublishDeps = {
  readonly publisher: Pick<Publisher, 'accept' | 'flush' | 'refreshed'>;
  /** Error `topic-not-found`. */
  resolve(name: string, options: { readonly fresh: boolean }, signal: AbortSignal): Promise<Topic>;
  /** Forgets what is remembered of a topic: somebody has changed its segments. */
  forget(name: string): void;
};

const Flush = z.object({
  topic: z.string().check(z.refine(isTopicId)),
  segments: z.array(z.string().check(z.refine(isSegmentId))),
});
const Refresh = z.object({ topics: z.array(z.string().check(z.refine(isTopicName))) });

const DONE = encodeUtf8('{}');

/**
 * What brokers ask of each other about publishes. `publish`: a forwarded one; any error means that nothing of it was begun.
 * `flush` `{topic, segments}`: resolves once what this one holds of them is decided. `refresh` `{topics}`, by their names:
 * their segments have changed.
 */
export function createPublishOperations(deps: PeerPublishDeps): Readonly<Record<'publish' | 'flush' | 'refresh', PeerOperation>> {
  return {
    async publish(body, signal) {
      const { topic, parts } = decodeForward(body);
      return encodeOutcomes(await deps.publisher.accept(await sameTopic(deps, topic, signal), parts, signal));
    },
    async flush(body, signal) {
      const { topic, segments } = read(Flush, body);
      await deps.publisher.flush(topic as TopicId, segments as SegmentId[], signal);
      return DONE;
    },
    refresh(body) {
      for (const name of read(Refresh, body).topics) {
        deps.forget(name);
        deps.publisher.refreshed(name);
      }
      return Promise.resolve(DONE);
    },
  };
}

/** The topic of this name, if it is still the one that the sender means: its messages are no other one's. */
async function sameTopic(deps: PeerPublishDeps, { id, name }: Forwarded['topic'], signal: AbortSignal): Promise<Topic> {
  const known = await deps.resolve(name, { fresh: false }, signal);
  if (known.id === id) return known;
  const fresh = await deps.resolve(name, { fresh: true }, signal);
  if (fresh.id === id) return fresh;
  throw new KelpError('not-found', 'topic-not-found', `topic ${name} is another one by now`);
}

function read<T extends z.ZodMiniType>(schema: T, body: Bytes): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(body) ?? '');
  } catch {
    throw invalid('invalid-json', 'body', 'the body is no JSON');
  }
  const result = schema.safeParse(value);
  if (!result.success) throw invalid('invalid-request', String(result.error.issues[0]?.path.join('.')), 'not as it should be');
  return result.data;
}

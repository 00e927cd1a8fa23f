import { invalid, KelpError } from '../model/errors.ts';
import { isSegmentId, isTopicName, type SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Topics } from '../topics/topics.ts';
import type { Call } from './call.ts';

/** The path's topic name. Error `invalid-topic`, before any store is asked. */
export function topicNameOf({ context }: Call): string {
  const name = context.req.param('topic') ?? '';
  if (!isTopicName(name)) throw invalid('invalid-topic', 'topic', 'a topic is [a-z0-9][a-z0-9._-]{0,127}');
  return name;
}

export function segmentIdOf({ context }: Call): SegmentId {
  const id = context.req.param('segment') ?? '';
  if (!isSegmentId(id)) throw invalid('invalid-segment', 'segment', 'a segment id is s and seven of 0-9 a-z');
  return id;
}

/** What a topic that was remembered for too long looks like: its life, or its list of segments, is another one by now. */
export const STALE_FOR_READS: readonly string[] = ['topic-not-found', 'segment-not-found', 'topic-replaced'];
/** A publish only goes again where it is sure that nothing was stored. */
export const STALE_FOR_PUBLISHES: readonly string[] = ['topic-not-found'];
/** An upload is looked for by the topic's id: nothing was stored where it is not found. */
export const STALE_FOR_UPLOADS: readonly string[] = [...STALE_FOR_PUBLISHES, 'upload-not-found'];

/**
 * `use` with the topic as it is remembered, and if that turns out stale, once more with the one that the stores know.
 * A remembered topic costs no read, and can't do harm: heads and commits tell the truth.
 */
export async function withTopic<T>(
  call: Call,
  options: { readonly topics: Pick<Topics, 'resolve'>; readonly stale: readonly string[] },
  use: (topic: Topic) => Promise<T>,
): Promise<T> {
  const name = topicNameOf(call);
  const known = await options.topics.resolve(name, { fresh: false }, call.signal);
  try {
    return await use(known);
  } catch (error) {
    if (!(error instanceof KelpError) || !options.stale.includes(error.code)) throw error;
    const fresh = await options.topics.resolve(name, { fresh: true }, call.signal);
    if (fresh.id === known.id && fresh.version === known.version) throw error;
    return use(fresh);
  }
}

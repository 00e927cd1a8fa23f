import type { ReadBounds } from '../consume/page.ts';
import type { Topic } from '../model/topic.ts';
import type { Call } from './call.ts';
import { whileWaiting } from './wait.ts';
import type { ReaderDependencies } from './waiters.ts';
import { STALE_FOR_READS, withTopic } from './with-topic.ts';

/** `topic`: the one that it was read of. */
export type ReadPage<P> = { readonly topic: Topic; readonly page: P };

/** A page of the topic that the request names, waited for as long as it says. */
export function readPage<W extends Pick<ReadBounds, 'waitMs'>, P>(
  deps: ReaderDependencies,
  call: Call,
  wanted: W,
  read: (topic: Topic, wanted: W, signal: AbortSignal) => Promise<P>,
): Promise<ReadPage<P>> {
  const waits = { waitMs: wanted.waitMs, signal: call.signal };
  return withTopic(call, { topics: deps.topics, stale: STALE_FOR_READS }, async (topic) => ({
    topic,
    page: await whileWaiting(deps, waits, (waitMs, signal) => read(topic, { ...wanted, waitMs }, signal)),
  }));
}

import type { Handlers } from './call.ts';
import type { ReadingDependencies } from './dependencies.ts';
import { createReadSegment } from './read-segment.ts';
import { createReadTopic } from './read-topic.ts';
import { createWaiters } from './waiters.ts';

/** Messages out. */
export function readingHandlers(deps: ReadingDependencies) {
  const readers = { ...deps, waiters: createWaiters(deps.telemetry) };
  return { readTopic: createReadTopic(readers), readSegment: createReadSegment(readers) } satisfies Handlers;
}

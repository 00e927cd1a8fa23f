import type { Handlers } from './call.ts';
import type { ReadingDependencies } from './dependencies.ts';
import { createListFiles } from './files.ts';
import { createReadSegment } from './read-segment.ts';
import { createReadTopic } from './read-topic.ts';
import { createTruncateTopic } from './truncate.ts';
import { createWaiters } from './waiters.ts';

/** Messages out; also for ever, since it takes a reader to find out where a time begins. */
export function readingHandlers(deps: ReadingDependencies) {
  const readers = { ...deps, waiters: createWaiters(deps.telemetry) };
  return {
    readTopic: createReadTopic(readers),
    readSegment: createReadSegment(readers),
    listFiles: createListFiles(deps),
    truncateTopic: createTruncateTopic(deps),
  } satisfies Handlers;
}

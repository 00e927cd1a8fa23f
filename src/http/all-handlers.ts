import type { AllHandlers } from './call.ts';
import type { HttpDependencies } from './dependencies.ts';
import { createMetrics } from './operations.ts';
import { leadingHandlers } from './leading-handlers.ts';
import { publishingHandlers } from './publishing-handlers.ts';
import { readingHandlers } from './reading-handlers.ts';

/** Of a process: it does everything. */
export const allHandlers = (deps: HttpDependencies): AllHandlers => ({
  ...publishingHandlers(deps),
  ...readingHandlers(deps),
  ...leadingHandlers(deps),
  metrics: createMetrics(deps),
});

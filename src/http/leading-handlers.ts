import { createDrainBroker, createSegmentBrokers } from './brokers.ts';
import type { Handlers } from './call.ts';
import type { LeadingDependencies } from './dependencies.ts';
import { openapi } from './operations.ts';
import { createRebalance } from './rebalance.ts';
import { createSweep } from './sweep.ts';
import { createMergeSegments, createSplitSegment } from './scale-segments.ts';
import { createChangeTopic, createCreateTopic, createDeleteTopic } from './topics.ts';

/**
 * Changes of topics, what only a leader decides, and clean-up. The document is as large as a fifth of what takes messages, and
 * nobody waits for it: here it delays the start of no function that somebody waits for.
 */
export const leadingHandlers = (deps: LeadingDependencies) =>
  ({
    openapi,
    createTopic: createCreateTopic(deps),
    changeTopic: createChangeTopic(deps),
    deleteTopic: createDeleteTopic(deps),
    segmentBrokers: createSegmentBrokers(deps),
    splitSegment: createSplitSegment(deps),
    mergeSegments: createMergeSegments(deps),
    rebalance: createRebalance(deps),
    sweep: createSweep(deps),
    drainBroker: createDrainBroker(deps),
  }) satisfies Handlers;

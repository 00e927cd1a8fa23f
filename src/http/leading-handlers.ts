import { createDrainBroker, createSegmentBrokers } from './brokers.ts';
import type { Handlers } from './call.ts';
import type { LeadingDependencies } from './dependencies.ts';
import { createRebalance } from './rebalance.ts';
import { createSweep } from './sweep.ts';
import { createMergeSegments, createSplitSegment } from './scale-segments.ts';
import { createChangeTopic, createCreateTopic, createDeleteTopic } from './topics.ts';

/** Changes of topics, what only a leader decides, and clean-up. */
export const leadingHandlers = (deps: LeadingDependencies) =>
  ({
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

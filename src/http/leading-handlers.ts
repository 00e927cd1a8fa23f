import { createDrainBroker, createSegmentBrokers } from './brokers.ts';
import type { Handlers } from './call.ts';
import type { ControlDependencies } from './dependencies.ts';
import { createRebalance } from './rebalance.ts';
import { createMergeSegments, createSplitSegment } from './scale-segments.ts';
import { createChangeTopic, createCreateTopic, createDeleteTopic } from './topics.ts';

/** Changes of topics, and what only a leader decides. */
export const leadingHandlers = (deps: ControlDependencies) =>
  ({
    createTopic: createCreateTopic(deps),
    changeTopic: createChangeTopic(deps),
    deleteTopic: createDeleteTopic(deps),
    segmentBrokers: createSegmentBrokers(deps),
    splitSegment: createSplitSegment(deps),
    mergeSegments: createMergeSegments(deps),
    rebalance: createRebalance(deps),
    drainBroker: createDrainBroker(deps),
  }) satisfies Handlers;

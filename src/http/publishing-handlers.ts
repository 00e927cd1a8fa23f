import { createGetLeader, createListBrokers } from './brokers.ts';
import type { Handlers } from './call.ts';
import type { PublishingDependencies } from './dependencies.ts';
import { createReadyz } from './operations.ts';
import { createPublishMessage } from './publish-message.ts';
import { createPublishMessages } from './publish-messages.ts';
import { createGetScaling } from './scaling.ts';
import { createGetSegment, createListSegments } from './segments.ts';
import { createGetTopic, createListTopics } from './topics.ts';
import { createCreateUpload, createGetUpload } from './uploads.ts';

/** Publishing, and all that is neither reading messages nor a leader's to decide. */
export const publishingHandlers = (deps: PublishingDependencies) =>
  ({
    readyz: createReadyz(deps),
    listTopics: createListTopics(deps),
    getTopic: createGetTopic(deps),
    publishMessages: createPublishMessages(deps),
    publishMessage: createPublishMessage(deps),
    createUpload: createCreateUpload(deps),
    getUpload: createGetUpload(deps),
    listSegments: createListSegments(deps),
    getSegment: createGetSegment(deps),
    getScaling: createGetScaling(deps),
    listBrokers: createListBrokers(deps),
    getLeader: createGetLeader(deps),
  }) satisfies Handlers;

import { Hono } from 'hono';
import { PEER_METHOD, PEER_PATH } from '../format/peer-request.ts';
import { KelpError } from '../model/errors.ts';
import { noContent } from './answer.ts';
import { createDrainBroker, createGetLeader, createListBrokers, createSegmentBrokers } from './brokers.ts';
import type { Handler } from './call.ts';
import type { HttpDependencies } from './dependencies.ts';
import { createInternalRoute } from './internal.ts';
import { createAbout, createMetrics, createLivez, createReadyz, openapi } from './operations.ts';
import { methodsOf, type Operation, ROUTES } from './paths.ts';
import { createPublishMessage } from './publish-message.ts';
import { createPublishMessages } from './publish-messages.ts';
import { createReadSegment } from './read-segment.ts';
import { createReadTopic } from './read-topic.ts';
import { createRebalance } from './rebalance.ts';
import { createGetScaling } from './scaling.ts';
import { createMergeSegments, createSplitSegment } from './scale-segments.ts';
import { createGetSegment, createListSegments } from './segments.ts';
import { createServe } from './serve.ts';
import { createChangeTopic, createCreateTopic, createDeleteTopic, createGetTopic, createListTopics } from './topics.ts';
import { createWaiters } from './waiters.ts';

/** The HTTP API of PROTOCOL.md over the given engine: a function from Request to Response, in every runtime. */
export function createApp(deps: HttpDependencies): Hono {
  const serve = createServe(deps);
  const handlers = handlersOf(deps);
  const app = new Hono();
  for (const { operation, method, path, open } of ROUTES) {
    app.on(method, path, serve({ name: path, method, open: open === true }, handlers[operation]));
  }
  const none = serve({ name: 'none', method: 'any', open: false }, unmatched);
  // Nothing is there for whoever is no broker of this Kelp, with or without a token.
  const nothing = serve({ name: 'none', method: 'any', open: true }, unmatched);
  const { internal, telemetry } = deps;
  if (internal !== undefined) {
    app.on(PEER_METHOD, `${PEER_PATH}:operation`, createInternalRoute({ internal, telemetry, serve, unmatched: nothing }));
  }
  app.notFound((context) => (context.req.path.startsWith(PEER_PATH) ? nothing : none)(context));
  return app;
}

function handlersOf(deps: HttpDependencies): Readonly<Record<Operation, Handler>> {
  const readers = { ...deps, waiters: createWaiters(deps.telemetry) };
  return {
    livez: createLivez(deps),
    readyz: createReadyz(deps),
    metrics: createMetrics(deps),
    openapi,
    about: createAbout(deps),
    listTopics: createListTopics(deps),
    createTopic: createCreateTopic(deps),
    getTopic: createGetTopic(deps),
    changeTopic: createChangeTopic(deps),
    deleteTopic: createDeleteTopic(deps),
    publishMessages: createPublishMessages(deps),
    publishMessage: createPublishMessage(deps),
    readTopic: createReadTopic(readers),
    listSegments: createListSegments(deps),
    getSegment: createGetSegment(deps),
    readSegment: createReadSegment(readers),
    segmentBrokers: createSegmentBrokers(deps),
    splitSegment: createSplitSegment(deps),
    mergeSegments: createMergeSegments(deps),
    getScaling: createGetScaling(deps),
    rebalance: createRebalance(deps),
    listBrokers: createListBrokers(deps),
    getLeader: createGetLeader(deps),
    drainBroker: createDrainBroker(deps),
  };
}

/** A path that isn't there, or a method that it doesn't take. */
const unmatched: Handler = ({ context }) => {
  const methods = methodsOf(context.req.path);
  if (methods.length === 0) throw new KelpError('not-found', 'path-not-found', 'no such path; GET /openapi.json lists them');
  if (context.req.method === 'OPTIONS') return noContent({ allow: methods.join(', ') });
  throw new KelpError('invalid', 'method-not-allowed', `allowed: ${methods.join(', ')}`, { extra: { allow: methods } });
};

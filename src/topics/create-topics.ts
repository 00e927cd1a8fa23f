import { readScaling } from '../topology/scale-history.ts';
import { changeSettings } from './change-settings.ts';
import { createTopic } from './create-topic.ts';
import { type DeleteDeps, deleteTopic } from './delete-topic.ts';
import { describeSegment, describeSegments } from './describe-segments.ts';
import { listTopics } from './list-topics.ts';
import { openAt } from './open-at.ts';
import { createTopicResolver } from './resolve-topic.ts';
import type { Topics } from './topics.ts';

export function createTopics(deps: DeleteDeps): Topics {
  const resolver = createTopicResolver(deps);
  return {
    async create(name, wish, signal) {
      const created = await createTopic(deps, name, wish, signal);
      resolver.learn(created.topic);
      return created;
    },
    async change(name, change, signal) {
      const topic = await changeSettings(deps, name, change, signal);
      resolver.learn(topic);
      return topic;
    },
    resolve: (name, options, signal) => resolver.resolve(name, options, signal),
    forget: (name) => resolver.forget(name),
    list: (page, signal) => listTopics(deps, page, signal),
    async delete(name, signal) {
      try {
        await deleteTopic(deps, name, signal);
      } finally {
        // Also what somebody resolved meanwhile.
        resolver.forget(name);
      }
    },
    segments: (topic, signal) => describeSegments(deps, topic, signal),
    segmentsAt: async (topic, atMs, signal) => openAt(await describeSegments(deps, topic, signal), topic, atMs),
    segment: (topic, segment, signal) => describeSegment(deps, topic, segment, signal),
    scaling: (topic, signal) => readScaling(deps, topic, signal),
  };
}

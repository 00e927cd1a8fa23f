import { invalid } from '../model/errors.ts';
import { isTopicName } from '../model/ids.ts';
import { TOPICS_LIST_DEFAULT, TOPICS_LIST_MAX } from '../model/limits.ts';
import { scalingOf, type Topic } from '../model/topic.ts';
import { jsonText, noContent } from './answer.ts';
import type { Handler } from './call.ts';
import type { TopicsDependencies } from './dependencies.ts';
import { JSON_MEDIA, negotiate, requireJson } from './media-type.ts';
import { bodyOf } from './publish-body.ts';
import { integerParameter, parseQuery } from './query.ts';
import { parseSettingsChange, parseTopicSettings } from './topic-settings.ts';
import { topicNameOf } from './with-topic.ts';

export function createListTopics({ topics }: TopicsDependencies): Handler {
  return async ({ context, signal }) => {
    negotiate(context, [JSON_MEDIA]);
    const query = parseQuery(context.req.url, ['limit', 'after']);
    const limit = integerParameter(query, 'limit', { min: 1, max: TOPICS_LIST_MAX }) ?? TOPICS_LIST_DEFAULT;
    const after = query.get('after');
    if (after !== undefined && !isTopicName(after))
      throw invalid('invalid-after', 'after', 'the name of a topic, of today or of yesterday');
    const page = await topics.list({ limit, ...(after === undefined ? {} : { after }) }, signal);
    const next = page.next === undefined ? '' : `,"next":${JSON.stringify(page.next)}`;
    return jsonText(200, `{"topics":[${page.topics.map(textOf).join(',')}]${next}}`);
  };
}

export function createCreateTopic(deps: TopicsDependencies): Handler {
  return async (call) => {
    const name = topicNameOf(call);
    requireJson(call.context.req.header('content-type'));
    const settings = parseTopicSettings(await bodyOf(deps, call), deps.clock.nowMs());
    const { topic, created } = await deps.topics.create(name, settings, call.signal);
    return jsonText(created ? 201 : 200, textOf(topic));
  };
}

export function createGetTopic({ topics }: TopicsDependencies): Handler {
  return async (call) => {
    const name = topicNameOf(call);
    negotiate(call.context, [JSON_MEDIA]);
    parseQuery(call.context.req.url, []);
    return jsonText(200, textOf(await topics.resolve(name, { fresh: true }, call.signal)));
  };
}

export function createChangeTopic(deps: TopicsDependencies): Handler {
  return async (call) => {
    const name = topicNameOf(call);
    requireJson(call.context.req.header('content-type'));
    const change = parseSettingsChange(await bodyOf(deps, call), deps.clock.nowMs());
    return jsonText(200, textOf(await deps.topics.change(name, change, call.signal)));
  };
}

export function createDeleteTopic({ topics }: TopicsDependencies): Handler {
  return async (call) => {
    await topics.delete(topicNameOf(call), call.signal);
    return noContent();
  };
}

/** What is promised about a topic; versions, changes and open ranges are the engine's own. The schema is the text that was given. */
function textOf({ name, id, settings, createdMs }: Topic): string {
  const { partitionKey, segments, replicas, retention = {}, schema } = settings;
  const text = JSON.stringify({ topic: name, id, partitionKey, segments, replicas, scaling: scalingOf(settings), retention, createdMs });
  return schema === undefined ? text : `${text.slice(0, -1)},"schema":${schema.json}}`;
}

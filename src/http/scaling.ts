import type { ScaleEvent } from '../model/scale-event.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { TopicsDependencies } from './dependencies.ts';
import { JSON_MEDIA, negotiate } from './media-type.ts';
import { parseQuery } from './query.ts';
import { topicNameOf } from './with-topic.ts';

/** The topic is read anew: of one that is gone, and maybe there again, a remembered one would tell the former life. */
export function createGetScaling({ topics }: TopicsDependencies): Handler {
  return async (call) => {
    const name = topicNameOf(call);
    negotiate(call.context, [JSON_MEDIA]);
    parseQuery(call.context.req.url, []);
    const topic = await topics.resolve(name, { fresh: true }, call.signal);
    const events = await topics.scaling(topic, call.signal);
    return okJson({ events: events.map(documentOf) });
  };
}

const documentOf = (event: ScaleEvent): Record<string, unknown> => ({
  atMs: event.atMs,
  kind: event.kind,
  parents: event.parents,
  children: event.children,
  at: event.kind === 'split' ? event.at : undefined,
  by: event.by,
  reason: event.by === 'planner' ? event.reason : undefined,
});

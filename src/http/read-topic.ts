import type { ReadBounds, TopicPage } from '../consume/page.ts';
import { answer, JSON_TYPE } from './answer.ts';
import type { Call, Handler } from './call.ts';
import { BATCH_MEDIA, JSON_MEDIA, NDJSON_MEDIA, negotiate, SSE_MEDIA } from './media-type.ts';
import { frameBatches } from './batch-bytes.ts';
import { jsonPage, linesPage, messagesOf } from './page-bytes.ts';
import { parseQuery } from './query.ts';
import { readBoundsOf, TOPIC_READ_PARAMETERS } from './read-request.ts';
import { streamTopic } from './stream-topic.ts';
import { whileWaiting } from './wait.ts';
import type { ReaderDependencies } from './waiters.ts';
import { STALE_FOR_READS, withTopic } from './with-topic.ts';

type Wanted = { readonly cursor: string } & ReadBounds;

export function createReadTopic(deps: ReaderDependencies): Handler {
  return async (call) => {
    const format = negotiate(call.context, [JSON_MEDIA, NDJSON_MEDIA, BATCH_MEDIA, SSE_MEDIA]);
    const query = parseQuery(call.context.req.url, TOPIC_READ_PARAMETERS);
    const wanted = { cursor: query.get('cursor') ?? 'earliest', ...readBoundsOf(call, query, deps.limits) };
    if (format === SSE_MEDIA) return streamTopic(deps, call, wanted);
    const page = await readPage(deps, call, { ...wanted, wholeBatches: format === BATCH_MEDIA });
    const cursor = { 'kelp-cursor': page.cursor };
    if (format === BATCH_MEDIA) return answer(frameBatches(page.slices), `${BATCH_MEDIA}; framing=segment`, cursor);
    const messages = await messagesOf(deps.consumer, page.slices, true);
    if (format === NDJSON_MEDIA) return answer(linesPage(messages), NDJSON_MEDIA, cursor);
    return answer(jsonPage(messages, `"cursor":${JSON.stringify(page.cursor)}}`), JSON_TYPE);
  };
}

function readPage(deps: ReaderDependencies, call: Call, wanted: Wanted): Promise<TopicPage> {
  const { topics, consumer } = deps;
  return withTopic(call, { topics, stale: STALE_FOR_READS }, (topic) =>
    whileWaiting(deps, { waitMs: wanted.waitMs, signal: call.signal }, (waitMs, signal) =>
      consumer.readTopic(topic, { ...wanted, waitMs }, signal),
    ),
  );
}

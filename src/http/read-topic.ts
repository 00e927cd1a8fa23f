import { answer, JSON_TYPE } from './answer.ts';
import type { Handler } from './call.ts';
import { BATCH_MEDIA, JSON_MEDIA, NDJSON_MEDIA, negotiate, REFERENCES_MEDIA, SSE_MEDIA } from './media-type.ts';
import { frameBatches } from './batch-bytes.ts';
import { jsonPage, linesPage, messagesOf } from './page-bytes.ts';
import { parseQuery } from './query.ts';
import { readPage } from './read-page.ts';
import { inlineBytesOf, readBoundsOf, referenceBoundsOf, TOPIC_READ_PARAMETERS } from './read-request.ts';
import { referencesAnswer } from './reference-page.ts';
import { cursorBehind, showUploads } from './show-uploads.ts';
import { streamTopic } from './stream-topic.ts';
import type { ReaderDependencies } from './waiters.ts';

export function createReadTopic(deps: ReaderDependencies): Handler {
  return async (call) => {
    const format = negotiate(call.context, [JSON_MEDIA, NDJSON_MEDIA, BATCH_MEDIA, REFERENCES_MEDIA, SSE_MEDIA]);
    const query = parseQuery(call.context.req.url, TOPIC_READ_PARAMETERS);
    const place = { cursor: query.get('cursor') ?? 'earliest' };
    const inlineBytesMax = inlineBytesOf(query);
    const { consumer } = deps;
    if (format === REFERENCES_MEDIA) {
      const located = { ...place, ...referenceBoundsOf(call, query, deps.limits) };
      const { page } = await readPage(deps, call, located, consumer.locateTopic);
      return referencesAnswer(deps, page.slices, { cursor: page.cursor });
    }
    const wanted = { ...place, ...readBoundsOf(call, query, deps.limits) };
    if (format === SSE_MEDIA) return streamTopic(deps, call, { ...wanted, inlineBytesMax });
    const { topic, page } = await readPage(deps, call, { ...wanted, wholeBatches: format === BATCH_MEDIA }, consumer.readTopic);
    if (format === BATCH_MEDIA) return answer(frameBatches(page.slices), `${BATCH_MEDIA}; framing=segment`, { 'kelp-cursor': page.cursor });
    const shown = await showUploads(deps, await messagesOf(consumer, page.slices, true), { topic, inlineBytesMax }, call.signal);
    const cursor = await cursorBehind(page, shown);
    if (format === NDJSON_MEDIA) return answer(linesPage(shown.messages), NDJSON_MEDIA, { 'kelp-cursor': cursor });
    return answer(jsonPage(shown.messages, `"cursor":${JSON.stringify(cursor)}}`), JSON_TYPE);
  };
}

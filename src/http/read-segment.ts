import type { BatchPlace, ReadFrom, SegmentPage } from '../consume/page.ts';
import { answer, answerPieces, JSON_TYPE } from './answer.ts';
import type { Handler } from './call.ts';
import { BATCH_MEDIA, JSON_MEDIA, NDJSON_MEDIA, negotiate, REFERENCES_MEDIA, SSE_MEDIA } from './media-type.ts';
import { batchPieces } from './batch-bytes.ts';
import { jsonPage, linesPage, messagesOf, successorsText } from './page-bytes.ts';
import { parseQuery } from './query.ts';
import { readPage } from './read-page.ts';
import { inlineBytesOf, readBoundsOf, readFromOf, referenceBoundsOf, SEGMENT_READ_PARAMETERS } from './read-request.ts';
import { referencesAnswer } from './reference-page.ts';
import { showUploads, type ShownPage } from './show-uploads.ts';
import { streamSegment } from './stream-segment.ts';
import type { ReaderDependencies } from './waiters.ts';
import { segmentIdOf } from './with-topic.ts';

/** A page below the tail is what it is for ever: ids of segments are never used again. */
const HISTORY = { 'cache-control': 'private, max-age=86400, immutable', vary: 'Accept, Authorization' } as const;

export function createReadSegment(deps: ReaderDependencies): Handler {
  return async (call) => {
    const format = negotiate(call.context, [JSON_MEDIA, NDJSON_MEDIA, BATCH_MEDIA, REFERENCES_MEDIA, SSE_MEDIA]);
    const segment = segmentIdOf(call);
    const query = parseQuery(call.context.req.url, SEGMENT_READ_PARAMETERS);
    const place = { segment, from: readFromOf(query) };
    const inlineBytesMax = inlineBytesOf(query);
    const { consumer } = deps;
    if (format === REFERENCES_MEDIA) {
      const located = { ...place, ...referenceBoundsOf(call, query, deps.limits) };
      const { page } = await readPage(deps, call, located, consumer.locateSegment);
      return referencesAnswer(deps, page.slices, membersOf(page));
    }
    const wanted = { ...place, ...readBoundsOf(call, query, deps.limits) };
    if (format === SSE_MEDIA) return streamSegment(deps, call, { ...wanted, inlineBytesMax });
    const { topic, page } = await readPage(deps, call, { ...wanted, wholeBatches: format === BATCH_MEDIA }, consumer.readSegment);
    const isImmutable = isHistory(wanted.from, page);
    if (format === BATCH_MEDIA) return batchAnswer(page, isImmutable);
    const messages = await messagesOf(consumer, page.slices, false);
    const shown = await showUploads(deps, messages, { topic, segment, inlineBytesMax }, call.signal);
    return pageAnswer({ ...page, nextOffset: shown.next ?? page.nextOffset }, shown, { format, isImmutable });
  };
}

const isHistory = (from: ReadFrom, page: SegmentPage): boolean =>
  typeof from === 'object' && 'offset' in from && page.nextOffset < page.tail && !page.unchecked;

const cacheOf = (isImmutable: boolean): Record<string, string> => (isImmutable ? HISTORY : {});

function batchAnswer(page: SegmentPage, isImmutable: boolean): Response {
  const headers = { ...cacheOf(isImmutable), ...headersOf(page), 'kelp-offset': String(page.offset) };
  return answerPieces(batchPieces(page.slices), BATCH_MEDIA, headers);
}

function pageAnswer(
  page: SegmentPage,
  { messages, hasUploads }: ShownPage,
  { format, isImmutable }: { readonly format: typeof JSON_MEDIA | typeof NDJSON_MEDIA; readonly isImmutable: boolean },
): Response {
  // URLs end.
  const cache = cacheOf(isImmutable && !hasUploads);
  if (format === NDJSON_MEDIA) return answer(linesPage(messages), NDJSON_MEDIA, { ...cache, ...headersOf(page) });
  const { nextOffset, tail, sealed, successors } = page;
  const rest = `"nextOffset":${nextOffset},"tail":${tail},"sealed":${sealed},"successors":${successorsText(successors)}}`;
  return answer(jsonPage(messages, rest), JSON_TYPE, cache);
}

/** What stands around the messages in JSON. */
function membersOf({ nextOffset, tail, sealed, successors }: Omit<SegmentPage<BatchPlace>, 'slices'>) {
  return { nextOffset, tail, sealed, successors: successors.map(({ segment, lo, hi }) => ({ segment, lo, hi })) };
}

/** The same for formats in which nothing can stand there. */
function headersOf({ nextOffset, tail, sealed, successors }: SegmentPage): Record<string, string> {
  return {
    'kelp-next-offset': String(nextOffset),
    'kelp-tail': String(tail),
    'kelp-sealed': String(sealed),
    'kelp-successors': successors.map(({ segment, lo, hi }) => `${segment}:${lo}-${hi}`).join(','),
  };
}

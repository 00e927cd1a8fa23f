import type { FilesPlace, ListedFile } from '../archive/list-files.ts';
import { FILES_LIST_DEFAULT, FILES_LIST_MAX } from '../model/archive-limits.ts';
import { invalid } from '../model/errors.ts';
import { isSegmentId, type SegmentId } from '../model/ids.ts';
import { REFERENCE_MS } from '../model/upload-limits.ts';
import type { Presigner } from '../ports/presigner.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { ReadingDependencies } from './dependencies.ts';
import { JSON_MEDIA, negotiate } from './media-type.ts';
import { integerParameter, parseInteger, parseQuery, type Query } from './query.ts';
import { signedUntil } from './signed-until.ts';
import { STALE_FOR_READS, withTopic } from './with-topic.ts';

/** Files of a topic, each with a URL of its own, which nobody may keep longer than it lasts. */
export function createListFiles({ topics, oldMessages, presigner, clock }: ReadingDependencies): Handler {
  return async (call) => {
    negotiate(call.context, [JSON_MEDIA]);
    const query = parseQuery(call.context.req.url, ['segment', 'after', 'limit']);
    const limit = integerParameter(query, 'limit', { min: 1, max: FILES_LIST_MAX }) ?? FILES_LIST_DEFAULT;
    const wanted = { ...segmentIn(query), ...placeIn(query), limit };
    const page = await withTopic(call, { topics, stale: STALE_FOR_READS }, (topic) => oldMessages.files(topic, wanted, call.signal));
    const expiresAt = signedUntil(clock);
    const next = page.next === undefined ? undefined : `${page.next.segment}:${page.next.offset}`;
    return okJson({ files: page.files.map((file) => documentOf(presigner, file)), expiresAt, next });
  };
}

function segmentIn(query: Query): { readonly segment?: SegmentId } {
  const segment = query.get('segment');
  if (segment === undefined) return {};
  if (!isSegmentId(segment)) throw invalid('invalid-segment', 'segment', 'a segment id is s and seven of 0-9 a-z');
  return { segment };
}

/** `after`: the `next` of the page before. Error `invalid-after`. */
function placeIn(query: Query): { readonly from?: FilesPlace } {
  const after = query.get('after');
  if (after === undefined) return {};
  const [segment = '', digits = '', ...rest] = after.split(':');
  const offset = parseInteger(digits);
  if (!isSegmentId(segment) || offset === undefined || rest.length > 0) {
    throw invalid('invalid-after', 'after', 'what the page before gave as `next`');
  }
  return { from: { segment, offset } };
}

function documentOf(
  presigner: Presigner,
  { segment, first, last, date, rows, misfits, bytes, object }: ListedFile,
): Record<string, unknown> {
  const { method, url, headers } = presigner.get(object, REFERENCE_MS);
  return { segment, firstOffset: first, lastOffset: last, date, rows, misfits, bytes, method, url, headers };
}

import { damaged } from '../consume/damage.ts';
import type { TopicPage } from '../consume/page.ts';
import { noteDamage } from '../consume/read-from.ts';
import { referenceOf } from '../format/reference.ts';
import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import { INLINE_ANSWER_BYTES_MAX, INLINE_ANSWER_UPLOADS_MAX } from '../model/upload-limits.ts';
import type { Reference } from '../model/upload.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { References } from '../reference/references.ts';
import type { HttpLimits } from './dependencies.ts';
import type { PageMessage } from './page-bytes.ts';

type Deps = { readonly references: References; readonly limits: HttpLimits; readonly telemetry: Telemetry };

/** `segment`: of messages that don't say theirs. `inlineBytesMax`: uploads up to that come with their bytes; 0: none do. */
export type UploadsWish = { readonly topic: Topic; readonly segment?: SegmentId; readonly inlineBytesMax: number };

/** `hasUploads`: there are URLs in it, which end. `next`: the offset before which the page ends, though it was to go on. */
export type ShownPage = { readonly messages: readonly PageMessage[]; readonly hasUploads: boolean; readonly next?: number };

/**
 * The messages with what they refer to: a fresh URL, or the bytes. The page ends before an upload whose bytes are damaged, as it does
 * before a damaged batch; error `corrupt` where it would begin with it.
 */
export async function showUploads(
  deps: Deps,
  messages: readonly PageMessage[],
  wish: UploadsWish,
  signal: AbortSignal,
): Promise<ShownPage> {
  const found = referencesIn(messages);
  if (found.size === 0) return { messages, hasUploads: false };
  const contents = await contentsOf(deps, [...found.values()], wish, signal);
  const shown: PageMessage[] = [];
  for (const one of messages) {
    const reference = found.get(one);
    const content = reference === undefined ? undefined : contents.get(reference);
    if (content instanceof KelpError) {
      if (shown.length === 0) throw noteDamage(deps, damageOf(content, one, wish));
      return { messages: shown, hasUploads: true, next: one.message.offset };
    }
    if (reference === undefined) shown.push(one);
    else if (content === undefined)
      shown.push({ ...one, reference: { reference, url: deps.references.url(wish.topic.id, reference.upload) } });
    else shown.push({ ...one, reference: { reference, content } });
  }
  return { messages: shown, hasUploads: true };
}

/** Where a topic's page ends as it is shown. */
export const cursorBehind = async ({ cursor, cursorAt }: TopicPage, { messages, next }: ShownPage): Promise<string> =>
  next === undefined ? cursor : cursorAt(messages.length);

function referencesIn(messages: readonly PageMessage[]): ReadonlyMap<PageMessage, Reference> {
  const found = new Map<PageMessage, Reference>();
  for (const one of messages) {
    const reference = referenceOf(one.message);
    if (reference !== undefined) found.set(one, reference);
  }
  return found;
}

/** The bytes of those that are small enough, in order, as long as there is room. */
async function contentsOf(
  { references, limits }: Deps,
  found: readonly Reference[],
  { topic, inlineBytesMax }: UploadsWish,
  signal: AbortSignal,
): Promise<ReadonlyMap<Reference, Bytes | KelpError>> {
  if (inlineBytesMax === 0) return new Map();
  let bytesLeft = Math.min(INLINE_ANSWER_BYTES_MAX, limits.readBytesMax);
  const wanted: Reference[] = [];
  for (const reference of found) {
    if (wanted.length === INLINE_ANSWER_UPLOADS_MAX) break;
    if (reference.bytes > Math.min(inlineBytesMax, bytesLeft)) continue;
    bytesLeft -= reference.bytes;
    wanted.push(reference);
  }
  const contents = await references.contents(topic.id, wanted, signal);
  return new Map(contents.map((content, at) => [wanted[at] as Reference, content]));
}

function damageOf(error: KelpError, { message, ...named }: PageMessage, { topic, ...wish }: UploadsWish): KelpError {
  const segment = named.segment ?? wish.segment;
  if (segment === undefined) throw new Error('a message of no segment');
  const { offset } = message;
  const object = String(error.extra['object']);
  return damaged({ topic: topic.name, segment, offset, nextOffset: offset + 1, object }, error.message, error);
}

import type { ReadBounds } from '../consume/page.ts';
import { asField } from '../format/field-path.ts';
import { invalid, KelpError } from '../model/errors.ts';
import type { Topic } from '../model/topic.ts';
import type { Call } from './call.ts';
import type { Events } from './event-stream.ts';
import { openStream, STREAM_PAGE } from './open-stream.ts';
import { eventsPage, messagesOf } from './page-bytes.ts';
import { cursorBehind, showUploads } from './show-uploads.ts';
import type { ReaderDependencies } from './waiters.ts';
import { STALE_FOR_READS, withTopic } from './with-topic.ts';

type Wanted = { readonly cursor: string; readonly inlineBytesMax: number } & ReadBounds;

/** Places that need no cursor, and so can't be what a stream has handed out. */
const WORD = /^(?:earliest$|latest$|timestamp:)/;

/** Events of a whole topic, which has no end. Each has the cursor behind it: a reader who is cut in mid-page goes on there. */
export async function streamTopic(deps: ReaderDependencies, call: Call, wanted: Wanted): Promise<Response> {
  const lastEventId = call.context.req.header('last-event-id');
  if (lastEventId !== undefined && WORD.test(lastEventId)) throw invalid('invalid-cursor', 'Last-Event-ID', 'not a position of this topic');
  const cursor = lastEventId ?? wanted.cursor;
  return openStream(deps, call, {
    resumed: lastEventId !== undefined,
    start: (waitMs) =>
      withTopic(call, { topics: deps.topics, stale: STALE_FOR_READS }, async (topic) => {
        const pages = createPages(deps, topic, { ...wanted, cursor });
        const first = await pages.next(waitMs, call.signal).catch((error: unknown) => {
          throw lastEventId === undefined ? error : inHeader(error);
        });
        return { first, next: pages.next };
      }),
  });
}

/** What is wrong with the cursor is wrong where it came from. */
const inHeader = (error: unknown): unknown =>
  error instanceof KelpError && error.field === 'cursor' ? asField('Last-Event-ID', error) : error;

function createPages(
  deps: ReaderDependencies,
  topic: Topic,
  { cursor, inlineBytesMax }: Pick<Wanted, 'cursor' | 'inlineBytesMax'>,
): { next(waitMs: number, signal: AbortSignal): Promise<Events> } {
  const { consumer } = deps;
  let place = cursor;
  return {
    async next(waitMs, signal) {
      const page = await consumer.readTopic(topic, { cursor: place, ...STREAM_PAGE, waitMs }, signal);
      const shown = await showUploads(deps, await messagesOf(consumer, page.slices, true), { topic, inlineBytesMax }, signal);
      const { messages } = shown;
      const ids: string[] = [];
      for (let count = 1; count <= messages.length; count += 1) ids.push(await page.cursorAt(count));
      place = await cursorBehind(page, shown);
      return { bytes: eventsPage(messages, ids), messages: messages.length, last: false };
    },
  };
}

import type { Consumer, ReadBounds, ReadFrom, SegmentPage } from '../consume/page.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { isSegmentId, type SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Call } from './call.ts';
import { type Events, eventText } from './event-stream.ts';
import { eventsPage, messagesOf, successorsText } from './page-bytes.ts';
import { parseInteger } from './query.ts';
import { openStream, STREAM_PAGE } from './open-stream.ts';
import { showUploads } from './show-uploads.ts';
import type { ReaderDependencies } from './waiters.ts';
import { STALE_FOR_READS, withTopic } from './with-topic.ts';

type Place = { readonly segment: SegmentId; readonly from: ReadFrom };
type Wanted = Place & ReadBounds;
type Streamed = Wanted & { readonly inlineBytesMax: number };

/** Events of one segment from where the request says, or from its `Last-Event-ID`, until the segment's end. */
export async function streamSegment(deps: ReaderDependencies, call: Call, wanted: Streamed): Promise<Response> {
  const lastEventId = call.context.req.header('last-event-id');
  const from = lastEventId === undefined ? wanted.from : { offset: offsetOf(lastEventId, wanted.segment) };
  return openStream(deps, call, {
    resumed: lastEventId !== undefined,
    start: (waitMs) =>
      withTopic(call, { topics: deps.topics, stale: STALE_FOR_READS }, async (topic) => {
        const pages = createPages(deps, topic, { ...wanted, from });
        const first = await pages.next(waitMs, call.signal).catch((error: unknown) => {
          throw lastEventId === undefined ? error : asForged(error);
        });
        return { first, next: pages.next };
      }),
  });
}

/** Error `invalid-position`: malformed, or another segment's. */
function offsetOf(position: string, segment: SegmentId): number {
  const [id = '', offset = '', ...rest] = position.split(':');
  const value = parseInteger(offset);
  if (!isSegmentId(id) || value === undefined || rest.length > 0) throw forged('no position of a segment');
  if (id !== segment) throw forged('a position of another segment');
  return value;
}

const forged = (message: string): KelpError => invalid('invalid-position', 'Last-Event-ID', message);

/** Nobody was ever given a position beyond the tail. */
const asForged = (error: unknown): unknown =>
  error instanceof KelpError && error.code === 'beyond-tail' ? forged('a position beyond the tail') : error;

function createPages(
  deps: ReaderDependencies,
  topic: Topic,
  { segment, from, inlineBytesMax }: Place & Pick<Streamed, 'inlineBytesMax'>,
): { next(waitMs: number, signal: AbortSignal): Promise<Events> } {
  const { consumer } = deps;
  let place = from;
  return {
    async next(waitMs, signal) {
      const read = await readOn(consumer, topic, { segment, from: place, ...STREAM_PAGE, waitMs }, signal);
      const wish = { topic, segment, inlineBytesMax };
      const { messages, next } = await showUploads(deps, await messagesOf(consumer, read.slices, false), wish, signal);
      const page = { ...read, nextOffset: next ?? read.nextOffset };
      // Only now: a page that failed is read again, and not passed over.
      place = { offset: page.nextOffset };
      // The position behind a message: the offset that a reader who has it wants next.
      const ids = messages.map(({ message }) => `${segment}:${message.offset + 1}`);
      const last = page.sealed && page.nextOffset === page.tail;
      return { bytes: eventsPage(messages, ids, last ? endEvent(segment, page) : ''), messages: messages.length, last };
    },
  };
}

/** A page, of messages if there are any by then: behind what is passed over it reads on, or nobody would know that it got there. */
async function readOn(consumer: Consumer, topic: Topic, wanted: Wanted, signal: AbortSignal): Promise<SegmentPage> {
  let page = await consumer.readSegment(topic, wanted, signal);
  while (page.slices.length === 0 && page.nextOffset > page.offset) {
    page = await consumer.readSegment(topic, { ...wanted, from: { offset: page.nextOffset } }, signal);
  }
  return page;
}

function endEvent(segment: SegmentId, { nextOffset, successors }: SegmentPage): string {
  const json = `{"nextOffset":${nextOffset},"successors":${successorsText(successors)}}`;
  return eventText({ id: `${segment}:${nextOffset}`, name: 'end', json });
}

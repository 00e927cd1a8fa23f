import type { MessageSource, Stretch } from '../archive/archive-deps.ts';
import type { Consumer, SegmentPage } from '../consume/page.ts';
import { ARCHIVE_PIECE_BYTES } from '../model/archive-limits.ts';
import { KelpError } from '../model/errors.ts';
import type { StoredMessage } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';

type Reads = Pick<Consumer, 'readSegment' | 'decode'>;

/** Messages as readers get them, a batch at a time. The next page is on its way while one is made use of. */
export function createMessageSource(consumer: Reads): MessageSource {
  return {
    async *read(topic, stretch, signal) {
      for await (const page of pagesOf(consumer, topic, stretch, signal)) {
        if (page.unchecked) throw new KelpError('unavailable', 'unchecked', 'batches of an upload were not looked at yet');
        for (const slice of page.slices) yield upTo(await consumer.decode(slice), stretch.last);
      }
    },
  };
}

async function* pagesOf(
  consumer: Reads,
  topic: Topic,
  { segment, first, last }: Stretch,
  signal: AbortSignal,
): AsyncGenerator<SegmentPage, void, undefined> {
  const read = (offset: number): Promise<SegmentPage> => {
    const bounds = { messagesMax: last + 1 - offset, bytesMax: ARCHIVE_PIECE_BYTES, waitMs: 0, wholeBatches: true };
    const page = consumer.readSegment(topic, { segment, from: { offset }, ...bounds }, signal);
    // Whoever takes the page hears of it; nobody may, where the one before can't be made use of.
    page.catch(() => undefined);
    return page;
  };
  for (let coming = read(first); ;) {
    const page = await coming;
    const isLast = page.nextOffset > last;
    if (!isLast) coming = read(page.nextOffset);
    yield page;
    if (isLast) return;
  }
}

/** A batch may go on behind the stretch. */
function upTo(messages: readonly StoredMessage[], last: number): readonly StoredMessage[] {
  const end = messages.at(-1)?.offset ?? last;
  return end <= last ? messages : messages.filter(({ offset }) => offset <= last);
}

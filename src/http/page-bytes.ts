import type { BatchSlice, Consumer } from '../consume/page.ts';
import { type JsonWriter, writeJson, writeText, writtenJson } from '../format/json-writer.ts';
import { writeMessage } from '../format/message-to-json.ts';
import type { ShownReference } from '../format/reference.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import type { SegmentRange } from '../model/topic.ts';

/** A message of a page, whose it is where the page has several segments, and what it refers to, if it does. */
export type PageMessage = { readonly message: StoredMessage; readonly segment?: SegmentId; readonly reference?: ShownReference };

/** What a message's members, names and numbers add to its key and value, roughly. */
const AROUND_BYTES = 160;

/** All messages of a page, in order. `named`: each with its segment. */
export async function messagesOf(consumer: Consumer, slices: readonly BatchSlice[], named: boolean): Promise<PageMessage[]> {
  const messages: PageMessage[] = [];
  for (const slice of slices) {
    const { segment } = slice;
    for (const message of await consumer.decode(slice)) messages.push(named ? { message, segment } : { message });
  }
  return messages;
}

/** `{"messages":[…],` and the rest of the object, whose text is given with its closing brace. */
export function jsonPage(messages: readonly PageMessage[], rest: string): Bytes {
  const writer = writerFor(messages);
  writeText(writer, '{"messages":[');
  messages.forEach(({ message, ...form }, index) => {
    if (index > 0) writeText(writer, ',');
    writeMessage(writer, message, form);
  });
  writeText(writer, `],${rest}`);
  return writtenJson(writer);
}

/** A message a line. */
export function linesPage(messages: readonly PageMessage[]): Bytes {
  const writer = writerFor(messages);
  for (const { message, ...form } of messages) {
    writeMessage(writer, message, { ...form, oneLine: true });
    writeText(writer, '\n');
  }
  return writtenJson(writer);
}

/** A message an event, each with the position at its place in `ids`; then `end`. */
export function eventsPage(messages: readonly PageMessage[], ids: readonly string[], end = ''): Bytes {
  const writer = writerFor(messages);
  messages.forEach(({ message, ...form }, index) => {
    writeText(writer, `id: ${ids[index]}\ndata: `);
    writeMessage(writer, message, { ...form, oneLine: true });
    writeText(writer, '\n\n');
  });
  writeText(writer, end);
  return writtenJson(writer);
}

function writerFor(messages: readonly PageMessage[]): JsonWriter {
  return writeJson(messages.reduce((sum, { message }) => sum + message.key.length + (message.value?.length ?? 0) + AROUND_BYTES, 0));
}

export const successorsText = (successors: readonly SegmentRange[]): string =>
  JSON.stringify(successors.map(({ segment, lo, hi }) => ({ segment, lo, hi })));

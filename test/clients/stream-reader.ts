import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Read, Seen } from '../checkers/history.ts';
import type { Reply } from './call.ts';
import { type ReaderOptions, seenEvent } from './reader.ts';

const PAUSE_MS = 50;
/** A stream is promised a comment every 15 s, however long a page takes: its broker stands still. */
const SILENCE_MS = 16_000;

/** Follows the topic by server-sent events until it is told to stop; a stream that ends is opened anew behind its last event. */
export async function streamTopic(options: ReaderOptions, stop: AbortSignal): Promise<Read> {
  const messages: Seen[] = [];
  let position: string | undefined;
  let last: Reply | undefined;
  while (!stop.aborted) {
    last = await stream({ ...options, last, position }, stop, (id, data) => {
      const seen = seenEvent(data);
      messages.push(seen);
      options.onSeen?.(seen);
      position = id;
    });
    if (!stop.aborted) await sleep(PAUSE_MS);
  }
  return { reader: options.name ?? 'stream', complete: false, messages };
}

type Streaming = ReaderOptions & { readonly last: Reply | undefined; readonly position: string | undefined };
type Take = (id: string, data: string) => void;

/** One connection to its end, which comes as a reply: no answer where the connection broke or fell silent. Throws what isn't retryable. */
async function stream(options: Streaming, stop: AbortSignal, take: Take): Promise<Reply> {
  const { name = 'stream', url, topic, token, agent, last, position } = options;
  const target = `${url(last, name)}/v1/topics/${topic}/messages?cursor=earliest`;
  const resume = position === undefined ? {} : { 'last-event-id': position };
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...resume };
  const reply = await new Promise<Reply>((resolve, reject) => {
    const request = httpRequest(target, { agent, headers, timeout: SILENCE_MS, signal: stop });
    const fail = (error: Error): void => resolve({ answered: false, sent: true, error });
    request.once('error', fail);
    request.once('timeout', () => request.destroy(new Error(`silent for ${SILENCE_MS} ms`)));
    request.once('response', (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (status !== 200) return;
        try {
          text = takeEvents(text, take);
        } catch (error) {
          reject(error);
          request.destroy();
        }
      });
      response.once('error', fail);
      response.once('end', () => resolve({ answered: true, status, headers: answered, text }));
    });
    request.end();
  });
  if (reply.answered && reply.status !== 200 && reply.status !== 503) throw new Error(`${reply.status} ${reply.text}`);
  return reply;
}

/** Hands over what is whole; answers the rest. */
function takeEvents(text: string, take: Take): string {
  const events = text.split('\n\n');
  const rest = events.pop() ?? '';
  for (const event of events) {
    const fields = new Map(event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
    const [kind, id, data] = ['event', 'id', 'data'].map((name) => fields.get(name));
    // A problem that passes ends the stream, and it is opened anew; nothing else ends a topic's.
    if (kind !== undefined && !(JSON.parse(data ?? '{}') as { retryable?: boolean }).retryable) throw new Error(`${kind}: ${data}`);
    if (kind === undefined && id !== undefined && data !== undefined) take(id, data);
  }
  return rest;
}

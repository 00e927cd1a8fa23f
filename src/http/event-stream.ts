import { KelpError } from '../model/errors.ts';
import { STREAM_COMMENT_MS } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Clock } from '../ports/clock.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { SSE_MEDIA } from './media-type.ts';
import { problemOf, problemText } from './problem.ts';

/** Whole events, ready to send; `messages` of them are messages. `last`: nothing comes after them. */
export type Events = { readonly bytes: Bytes; readonly messages: number; readonly last: boolean };

export type EventSource = {
  /** The next events; none after a wait in which nothing came. */
  next(signal: AbortSignal): Promise<Events>;
};

export type StreamOptions = {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Aborts when the reader has gone, or the process begins to stop: the stream ends without a word. */
  readonly signal: AbortSignal;
  readonly first: Events;
  readonly source: EventSource;
  /** Called once, however it ends. */
  onEnd(): void;
};

export const EVENT_HEADERS = {
  'content-type': SSE_MEDIA,
  // A proxy that holds events back, or compresses them into blocks, makes a stream that says nothing.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
} as const;

const encoder = new TextEncoder();

/** A comment: nothing to the reader, and to everybody between a sign that somebody is there. */
export const COMMENT: Bytes = encoder.encode(':\n\n');
const NOTHING = new Uint8Array(0);

export function eventText(event: { readonly id?: string; readonly name?: string; readonly json: string }): string {
  const id = event.id === undefined ? '' : `id: ${event.id}\n`;
  const name = event.name === undefined ? '' : `event: ${event.name}\n`;
  return `${id}${name}data: ${event.json}\n\n`;
}

/**
 * An endless answer. It is pulled: no page is read before the one before it has left, so a slow reader holds one page and
 * no more. Comments come while a page is awaited.
 */
export function eventStream(options: StreamOptions): Response {
  const { signal, first } = options;
  let awaited: Promise<Events> | undefined;
  let over = false;
  const gone = new AbortController();
  const onAbort = (): void => gone.abort(signal.reason);
  const end = (): void => {
    if (over) return;
    over = true;
    signal.removeEventListener('abort', onAbort);
    gone.abort();
    options.onEnd();
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });

  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(COMMENT);
      if (first.bytes.length > 0) controller.enqueue(first.bytes);
      if (!first.last) return;
      controller.close();
      end();
    },
    async pull(controller) {
      let events: Events | 'quiet';
      do {
        awaited ??= nextOrProblem(options, gone.signal);
        events = await orQuiet(options.clock, awaited);
        if (events !== 'quiet') awaited = undefined;
      } while (events !== 'quiet' && events.bytes.length === 0 && !events.last);
      // Cancelled meanwhile: the controller takes nothing any more.
      if (over) return;
      const bytes = events === 'quiet' ? COMMENT : events.bytes;
      if (bytes.length > 0) controller.enqueue(bytes);
      if (events === 'quiet' || !events.last) return;
      controller.close();
      end();
    },
    cancel: end,
  });
  return new Response(body, { status: 200, headers: EVENT_HEADERS });
}

/** A failure in mid-stream can't have a status any more: it is an event, and the end. */
async function nextOrProblem({ source, telemetry }: StreamOptions, signal: AbortSignal): Promise<Events> {
  try {
    return await source.next(signal);
  } catch (error) {
    if (signal.aborted) return { bytes: NOTHING, messages: 0, last: true };
    const problem = problemOf(error);
    if (problem.status >= 500)
      telemetry.log('warn', 'stream failed', { code: error instanceof KelpError ? error.code : 'internal', error: String(error) });
    return { bytes: encoder.encode(eventText({ name: 'problem', json: problemText(problem) })), messages: 0, last: true };
  }
}

async function orQuiet(clock: Clock, events: Promise<Events>): Promise<Events | 'quiet'> {
  const timer = new AbortController();
  const quiet = clock.sleep(STREAM_COMMENT_MS, timer.signal).then(
    () => 'quiet' as const,
    // Ended below, when the race is over: nobody looks at it any more.
    () => 'quiet' as const,
  );
  try {
    return await Promise.race([events, quiet]);
  } finally {
    timer.abort();
  }
}

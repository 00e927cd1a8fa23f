import { RUNTIME_MARGIN_MS } from '../model/function-limits.ts';
import { READ_MESSAGES_DEFAULT, STREAM_PAGE_BYTES_MAX, TIMEOUT_MS_DEFAULT, WAIT_MARGIN_MS, WAIT_MS_MAX } from '../model/limits.ts';
import { noContent } from './answer.ts';
import type { Call } from './call.ts';
import { startDeadline } from './deadline.ts';
import { COMMENT, EVENT_HEADERS, type Events, eventStream } from './event-stream.ts';
import { eitherSignal } from './wait.ts';
import type { ReaderDependencies } from './waiters.ts';

/** What a stream holds of its log at a time. */
export const STREAM_PAGE = { messagesMax: READ_MESSAGES_DEFAULT, bytesMax: STREAM_PAGE_BYTES_MAX } as const;

export type Opened = {
  readonly first: Events;
  next(waitMs: number, signal: AbortSignal): Promise<Events>;
};

export type Opening = {
  /** Whether the reader comes back with a position. */
  readonly resumed: boolean;
  /** Reads the first page: what is wrong with the request shows there, while there can still be a status. */
  start(waitMs: number): Promise<Opened>;
};

export async function openStream(deps: ReaderDependencies, call: Call, { resumed, start }: Opening): Promise<Response> {
  const { runtime, waiters } = deps;
  const isHead = call.context.req.method === 'HEAD';
  const leave = waiters.enter();
  let streams = false;
  try {
    const opened = await start(runtime.streams || isHead ? 0 : waitMsOf(deps, call));
    // An EventSource comes back for ever, except after this.
    if (resumed && opened.first.last && opened.first.messages === 0) return noContent({ 'cache-control': 'no-store' });
    if (isHead) return new Response(null, { status: 200, headers: EVENT_HEADERS });
    if (!runtime.streams) return new Response(Buffer.concat([COMMENT, opened.first.bytes]), { status: 200, headers: EVENT_HEADERS });
    streams = true;
    return stream(deps, call, opened, leave);
  } finally {
    if (!streams) leave();
  }
}

const waitMsOf = ({ limits }: ReaderDependencies, call: Call): number =>
  Math.max(0, Math.floor(Math.min(limits.waitMsMax, call.remainingMs() - WAIT_MARGIN_MS)));

function stream(deps: ReaderDependencies, call: Call, { first, next }: Opened, leave: () => void): Response {
  const { clock, telemetry, stopping, runtime } = deps;
  // The request's deadline ends with its headers; from here on the reader decides how long, as far as the runtime lets it.
  const either = eitherSignal(call.context.req.raw.signal, stopping);
  const leftMs = runtime.remainingMs(call.context.env);
  const life = leftMs === undefined ? undefined : startDeadline(clock, Math.max(0, leftMs - RUNTIME_MARGIN_MS), either.signal);
  return eventStream({
    clock,
    telemetry,
    signal: life?.signal ?? either.signal,
    first,
    source: {
      async next(signal) {
        const deadline = startDeadline(clock, WAIT_MS_MAX + TIMEOUT_MS_DEFAULT, signal);
        try {
          return await next(WAIT_MS_MAX, deadline.signal);
        } finally {
          deadline.end();
        }
      },
    },
    onEnd: () => {
      life?.end();
      either.end();
      leave();
    },
  });
}

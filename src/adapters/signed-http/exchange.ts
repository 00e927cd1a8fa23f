import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { CONNECTION_IDLE_MS } from '../../model/limits.ts';
import type { Bytes } from '../../model/message.ts';
import type { Clock } from '../../ports/clock.ts';
import { CONNECTION_POOL } from './connection-pool.ts';
import { ExchangeFailure } from './failure.ts';

/** Parts that are smaller than this on average are joined. */
const JOIN_PART_BYTES_MAX = 16_384;

export type ExchangeRequest = {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Record<string, string>;
  /** Sent one after the other; large parts are never copied. */
  readonly body: readonly Bytes[];
  /** A longer answer is cut off: the exchange has failed. */
  readonly answerBytesMax: number;
  /** Called once there is a connection: from then on something may arrive. */
  readonly onSent?: () => void;
};

export type Answer = { readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: Bytes };

/**
 * One request and its whole answer, never repeated. Rejects with {@link ExchangeFailure}, also after an abort, which disturbs no
 * other request.
 */
export type Exchange = (request: ExchangeRequest, signal: AbortSignal) => Promise<Answer>;

/** Exchanges with one origin. */
export type Connect = (endpoint: URL) => Exchange;

/** Over pools of kept connections; an abort ends the request's own one. */
export const keptConnections =
  (clock: Clock): Connect =>
  (endpoint) =>
    createExchange(endpoint, clock);

function createExchange(endpoint: URL, clock: Clock): Exchange {
  const secure = endpoint.protocol === 'https:';
  const agent = secure ? new HttpsAgent(CONNECTION_POOL) : new HttpAgent(CONNECTION_POOL);
  const dropForgotten = createDropForgotten(agent, clock);
  const send = secure ? httpsRequest : httpRequest;
  const connectedEvent = secure ? 'secureConnect' : 'connect';
  const host = endpoint.hostname.replace(/^\[|\]$/g, '');
  const port = endpoint.port === '' ? (secure ? 443 : 80) : Number(endpoint.port);

  return ({ method, target, headers, body, answerBytesMax, onSent }, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(new ExchangeFailure(false, signal.reason));
        return;
      }
      dropForgotten();
      const request = send({ agent, host, port, method, path: target, headers });
      // Until a connection stands nothing can have arrived; the error alone doesn't tell.
      let sent = false;
      const onConnected = (): void => {
        sent = true;
        onSent?.();
      };
      request.once('socket', (socket) => {
        if (!socket.connecting) onConnected();
        else socket.once(connectedEvent, onConnected);
      });
      const fail = (cause: unknown): void => {
        signal.removeEventListener('abort', onAbort);
        reject(new ExchangeFailure(sent, cause));
        request.destroy();
      };
      // A request that waits for a connection reports nothing when it is destroyed, so the caller is answered from here.
      const onAbort = (): void => fail(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      request.on('error', fail);
      request.once('response', (response) => {
        collect(response, { bytesMax: answerBytesMax, withBody: method !== 'HEAD', fail }, (answerBody) => {
          signal.removeEventListener('abort', onAbort);
          // An answer before the end of the request: what is left of it must not keep the connection.
          if (!request.writableFinished) request.destroy();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answerBody });
        });
      });
      sendBody(request, body);
    });
}

/**
 * Before each request. Of an instance that was frozen, timers have stood still, and the wall clock alone says for how long: the
 * other side knows its connections no more, and may not even say so.
 */
function createDropForgotten(agent: HttpAgent, clock: Clock): () => void {
  let usedMs = clock.nowMs();
  return () => {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - usedMs) > CONNECTION_IDLE_MS) {
      for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
    }
    usedMs = nowMs;
  };
}

/** Headers and parts leave in one system call where they fit. Many small parts are joined: a write costs more than its copy. */
function sendBody(request: ClientRequest, body: readonly Bytes[]): void {
  const bytes = body.reduce((sum, part) => sum + part.length, 0);
  const isSmall = body.length > 1 && bytes / body.length < JOIN_PART_BYTES_MAX;
  request.cork();
  for (const part of isSmall ? [Buffer.concat(body, bytes)] : body) request.write(part);
  request.end();
  request.uncork();
}

type Collecting = {
  readonly bytesMax: number;
  /** Otherwise its length is that of another answer. */ readonly withBody: boolean;
  readonly fail: (cause: unknown) => void;
};

/**
 * Where the length is known, pieces are copied as they come into the bytes that are handed on: pieces that are kept to the
 * end hold twice the memory, and cost the collector that finds them.
 */
function collect(response: IncomingMessage, { bytesMax, withBody, fail }: Collecting, done: (body: Bytes) => void): void {
  const length = Number(response.headers['content-length']);
  const known = withBody && Number.isSafeInteger(length) && length <= bytesMax ? new Uint8Array(length) : undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('error', fail);
  response.on('data', (chunk: Buffer) => {
    const at = bytes;
    bytes += chunk.length;
    if (bytes > (known?.length ?? bytesMax)) fail(new Error(`the answer is longer than ${known?.length ?? bytesMax} bytes`));
    else if (known === undefined) chunks.push(chunk);
    else known.set(chunk, at);
  });
  response.once('end', () => {
    if (known === undefined) done(joined(chunks, bytes));
    else if (bytes === known.length) done(known);
    else fail(new Error(`the answer ended after ${bytes} of ${known.length} bytes`));
  });
}

/** A plain array: nobody outside should come to rely on more. */
function joined(chunks: readonly Buffer[], bytes: number): Bytes {
  const [only] = chunks;
  const whole = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes);
  return new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength);
}

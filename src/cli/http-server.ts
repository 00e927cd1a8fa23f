import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expectContinue } from '../http/expect-continue.ts';
import { problemOf, problemResponse } from '../http/problem.ts';
import { invalid, KelpError } from '../model/errors.ts';
import {
  CONNECTION_IDLE_MS_MAX,
  PIPELINED_REQUESTS_MAX,
  REQUEST_HEADERS_BYTES_MAX,
  REQUEST_HEADERS_MS_MAX,
  STOP_CLOSE_MS_MAX,
} from '../model/limits.ts';

/** The app. `env.incoming.rawHeaders` has repeated lines of a header apart, which `request.headers` joins. */
export type Fetch = (request: Request, env: HttpBindings) => Response | Promise<Response>;

export type HttpServer = {
  /** Resolves with the port. Error `unavailable`/`cannot-listen`. */
  listen(host: string, port: number): Promise<number>;
  /** From now on every answer is the last one of its connection, so that clients go elsewhere; still listens. */
  drain(): void;
  /** Takes no more connections; resolves once the last one is closed, by us if its request takes too long. */
  close(): Promise<void>;
};

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

const LIMITS: ServerOptions = {
  keepAliveTimeout: CONNECTION_IDLE_MS_MAX,
  headersTimeout: REQUEST_HEADERS_MS_MAX,
  maxHeaderSize: REQUEST_HEADERS_BYTES_MAX,
};

/** Serves the app over HTTP/1.1. `limits` stand in for the server's own. */
export function createHttpServer(fetch: Fetch, limits: ServerOptions = {}): HttpServer {
  const respond: Listener = getRequestListener((request, env) => fetch(request, env as HttpBindings), { errorHandler: noRequest });
  const handle = oneAfterTheOther(respond);
  const { track, drain } = lastAnswers();
  const server = createServer({ ...LIMITS, ...limits }, (incoming, outgoing) => {
    track(incoming, outgoing);
    void handle(incoming, outgoing);
  });
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    track(incoming, outgoing);
    waitForContinue(incoming, outgoing);
    void handle(incoming, outgoing);
  });
  return { listen: (host, port) => listen(server, host, port), drain, close: () => close(server) };
}

/** Once draining, an answer that has not begun is the last one of its connection, unless others were asked for behind it. */
function lastAnswers(): { track(incoming: IncomingMessage, outgoing: ServerResponse): void; drain(): void } {
  const newest = new Map<Socket, ServerResponse>();
  let draining = false;
  return {
    track({ socket }, outgoing) {
      if (draining) outgoing.shouldKeepAlive = false;
      newest.set(socket, outgoing);
      outgoing.once('close', () => {
        if (newest.get(socket) === outgoing) newest.delete(socket);
      });
    },
    drain() {
      draining = true;
      for (const outgoing of newest.values()) outgoing.shouldKeepAlive = false;
    },
  };
}

/** What is wrong before there is a request: a target or a Host that no URL can be made of. The app's own errors are answers. */
function noRequest(): Response {
  return problemResponse(problemOf(invalid('invalid-request', 'path', 'the request target or the Host header is not valid')));
}

/**
 * Requests that a client has pipelined take effect in order: Node would hand them over together and put only the answers
 * in order. A connection with too many of them is closed, since nothing else stops it from being read.
 */
function oneAfterTheOther(respond: Listener): Listener {
  const queues = new WeakMap<Socket, { last: Promise<void>; length: number }>();
  return async (incoming, outgoing) => {
    const { socket } = incoming;
    const queue = queues.get(socket) ?? { last: Promise.resolve(), length: 0 };
    const before = queue.last;
    queue.length++;
    queue.last = new Promise((resolve) => outgoing.once('close', resolve));
    queues.set(socket, queue);
    if (queue.length > PIPELINED_REQUESTS_MAX) socket.destroy();
    await before;
    queue.length--;
    if (!socket.destroyed) await respond(incoming, outgoing);
  };
}

/**
 * `Expect: 100-continue`: the app asks for the body once the headers have passed. A connection whose body was not asked for
 * ends with its answer, since the client may send the body all the same.
 */
function waitForContinue(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { shouldKeepAlive } = outgoing;
  const writeContinue = outgoing.writeContinue.bind(outgoing);
  outgoing.shouldKeepAlive = false;
  outgoing.writeContinue = (callback) => {
    outgoing.shouldKeepAlive = shouldKeepAlive;
    writeContinue(callback);
  };
  expectContinue(incoming);
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(host, port, cause)));
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}

/** What a person can do about an address that can't be listened on. */
export function listenError(host: string, port: number, cause: NodeJS.ErrnoException): KelpError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is in use (set KELP_PORT)',
    EACCES: 'the port is not allowed to this user (set KELP_PORT)',
    EADDRNOTAVAIL: 'this machine has no such address (set KELP_HOST)',
    ENOTFOUND: 'there is no such host (set KELP_HOST)',
  };
  const why = reasons[cause.code ?? ''] ?? cause.code ?? cause.message;
  return new KelpError('unavailable', 'cannot-listen', `cannot listen on ${host}:${port}: ${why}`, { cause });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), STOP_CLOSE_MS_MAX);
  await closed;
  clearTimeout(timer);
}

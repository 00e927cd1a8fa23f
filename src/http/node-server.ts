import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { invalid, KelpError } from '../model/errors.ts';
import { CONNECTION_IDLE_MS_MAX, PIPELINED_MAX, REQUEST_HEADERS_BYTES_MAX, TIMEOUT_MS_MAX } from '../model/limits.ts';
import { expectContinue } from './expect-continue.ts';
import { problemOf, problemResponse } from './problem.ts';

export type HttpServer = {
  readonly host: string;
  readonly port: number;
  /** Takes no new connection; resolves when the last request is answered. An abort of `signal` cuts what is left. */
  close(signal: AbortSignal): Promise<void>;
};

/** Above the idle time: a proxy's connection that is reused at its end must not be met by a shorter clock. */
const HEADERS_MS_MAX = CONNECTION_IDLE_MS_MAX + 5_000;

/** The app on Node's HTTP server. Port 0: any free one. Error `unavailable`/`cannot-listen`, with the reason as cause. */
export async function startHttpServer(app: Hono, { host, port }: { readonly host: string; readonly port: number }): Promise<HttpServer> {
  const connections = createConnections(requestListener(app));
  const server = createServer(
    {
      keepAliveTimeout: CONNECTION_IDLE_MS_MAX,
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: HEADERS_MS_MAX + TIMEOUT_MS_MAX,
      maxHeaderSize: REQUEST_HEADERS_BYTES_MAX,
    },
    connections.onRequest,
  );
  server.on('connection', connections.onConnection);
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    expectContinue(incoming);
    connections.onRequest(incoming, outgoing);
  });
  const address = await listen(server, host, port);
  return { host, port: address.port, close: (signal) => close(server, connections, signal) };
}

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function requestListener(app: Hono): Listener {
  const listener = getRequestListener((request, env) => app.fetch(request, env), {
    // What is wrong before there is a request: a target or a Host that no URL can be made of.
    errorHandler: () => problemResponse(problemOf(invalid('invalid-request', 'path', 'the request target or Host is not valid'))),
  });
  return (incoming, outgoing) => void listener(incoming, outgoing);
}

type Connections = {
  readonly onRequest: Listener;
  readonly onConnection: (socket: Socket) => void;
  /** Ends each connection as soon as its last request is answered. */
  endAll(): void;
};

/**
 * Requests of one connection one after the other. Node starts pipelined ones side by side and only puts their answers in
 * order, so that a later publish could be stored before an earlier one.
 */
function createConnections(listener: Listener): Connections {
  const sockets = new Set<Socket>();
  const last = new WeakMap<Socket, ServerResponse>();
  const queued = new WeakMap<Socket, number>();
  const queue = (socket: Socket, previous: ServerResponse, start: () => void): void => {
    const waiting = (queued.get(socket) ?? 0) + 1;
    queued.set(socket, waiting);
    if (waiting > PIPELINED_MAX) socket.destroy();
    previous.once('close', () => {
      queued.set(socket, (queued.get(socket) ?? 1) - 1);
      if (!socket.destroyed) start();
    });
  };
  return {
    onConnection(socket) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    },
    onRequest(incoming, outgoing) {
      const { socket } = incoming;
      const previous = last.get(socket);
      last.set(socket, outgoing);
      if (previous === undefined || isDone(previous)) listener(incoming, outgoing);
      else queue(socket, previous, () => listener(incoming, outgoing));
    },
    endAll() {
      for (const socket of sockets) {
        const response = last.get(socket);
        if (response === undefined || isDone(response)) socket.end();
        else response.once('close', () => socket.end());
      }
    },
  };
}

const isDone = (response: ServerResponse): boolean => response.writableFinished || response.destroyed;

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void => reject(new KelpError('unavailable', 'cannot-listen', `cannot listen on ${host}:${port}`, { cause }));
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve(server.address() as AddressInfo);
    });
  });
}

async function close(server: Server, connections: Connections, signal: AbortSignal): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  const cut = (): void => server.closeAllConnections();
  if (signal.aborted) cut();
  signal.addEventListener('abort', cut, { once: true });
  connections.endAll();
  await closed;
  signal.removeEventListener('abort', cut);
}

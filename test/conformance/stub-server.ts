import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export type StubRequest = { readonly message: IncomingMessage; readonly body: Buffer };
/** How the stub treats one request: it may answer, answer in part, or not at all. */
export type Treatment = (response: ServerResponse, request: StubRequest) => void;

/** A client with sockets of its own tells whether a request had left when it failed; `fetch` doesn't. */
export type Sockets = { readonly ownSockets: boolean };
export const OWN_SOCKETS: Sockets = { ownSockets: true };

export type Stub = {
  readonly endpoint: string;
  /** Whole requests that came in. */
  readonly requests: StubRequest[];
  /** Connections that were opened, also those that are closed again. */
  connections(): number;
  /** Resolves once so many whole requests have come in. */
  untilRequests(count: number): Promise<void>;
  stop(): Promise<void>;
};

/**
 * An HTTP server that misbehaves on purpose: what real stores do too seldom to be tested with. `early`: it treats a request
 * before it has read the body.
 */
export async function startStub(treat: Treatment, { early = false } = {}): Promise<Stub> {
  const requests: StubRequest[] = [];
  let connections = 0;
  const server = createServer((message, response) => {
    void receive(message, response);
  });
  async function receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that gives up in the middle of its body has no more to say.
    const request = { message, body: early ? Buffer.alloc(0) : await buffer(message).catch(() => Buffer.alloc(0)) };
    requests.push(request);
    server.emit('whole-request');
    treat(response, request);
  }
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    async untilRequests(count) {
      while (requests.length < count) await once(server, 'whole-request');
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A client of a stub, which stops with the test that asks for it. */
export async function against<Client>(
  make: (endpoint: string) => Client,
  treat: Treatment,
  how = { early: false },
): Promise<{ client: Client; server: Stub }> {
  const server = await startStub(treat, how);
  onTestFinished(() => server.stop());
  return { client: make(server.endpoint), server };
}

/** A port on which nobody listens. */
export async function closedEndpoint(): Promise<string> {
  const stub = await startStub(() => undefined);
  await stub.stop();
  return stub.endpoint;
}

/** Promises more bytes than it sends, then ends the connection. */
export function cutAnswer(status: number, text: string): Treatment {
  return (response) => {
    response.writeHead(status, { 'content-length': text.length + 100 });
    response.write(text, () => response.destroy());
  };
}

/** Sends a part, and nothing more. */
export function stuckAnswer(status: number, text: string): Treatment {
  return (response) => {
    response.writeHead(status, { 'content-length': text.length + 100 });
    response.write(text);
  };
}

export function answer(status: number, text: string, headers: Record<string, string> = {}): Treatment {
  return (response) => response.writeHead(status, headers).end(text);
}

export const resetConnection: Treatment = (response) => void response.socket?.resetAndDestroy();

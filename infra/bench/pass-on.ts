import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

// What stands before a store or a table gets a request whole, passes it on, and replies with the answer.

/** A request as it came from the broker, whole. */
export type Passing = {
  readonly method: string;
  readonly path: string;
  /** Of the table's API: `UpdateItem` and so on; empty for the store. */
  readonly operation: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};
export type PassedAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer };

export async function receive(incoming: IncomingMessage): Promise<Passing> {
  const { method = '', url: path = '', headers } = incoming;
  const [, operation = ''] = String(headers['x-amz-target'] ?? '').split('.');
  return { method, path, operation, headers, body: await buffer(incoming) };
}

/**
 * Host header and all, so that signatures stay right. Goes on to the end though the broker has gone: a request that is in the network
 * can't be called back.
 */
export function passOn(
  { agent, target }: { readonly agent: Agent; readonly target: URL },
  { method, path, headers, body }: Passing,
): Promise<PassedAnswer> {
  return new Promise((resolve, reject) => {
    const { connection: _, ...others } = headers;
    const request = httpRequest({ agent, host: target.hostname, port: target.port, method, path, headers: others, setHost: false });
    request.once('error', reject);
    request.once('response', (response) => resolve(answerOf(response)));
    request.end(body);
  });
}

async function answerOf(response: IncomingMessage): Promise<PassedAnswer> {
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

export function reply(outgoing: ServerResponse, { status, headers, body }: PassedAnswer): void {
  const { 'transfer-encoding': _, connection: __, ...others } = headers;
  // The answer to a HEAD tells the length of what it leaves out.
  const length = outgoing.req.method === 'HEAD' ? {} : { 'content-length': String(body.length) };
  outgoing.writeHead(status, { ...others, ...length }).end(body);
}

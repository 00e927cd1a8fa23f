import assert from 'node:assert/strict';
import { Agent, request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

// Requests of the loads' own, over connections that are kept.

const agent = new Agent({ keepAlive: true });
const TAKEN = [200, 201, 206];

type Exchange = { readonly method: string; readonly headers: OutgoingHttpHeaders; readonly parts?: readonly Uint8Array[] };

async function send(url: string, { method, headers, parts = [] }: Exchange): Promise<IncomingMessage> {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent }, resolve).on('error', reject);
    for (const part of parts) outgoing.write(part);
    outgoing.end();
  });
}

/** The text of an answer that took the request. */
export async function textFrom(url: string, exchange: Exchange): Promise<string> {
  const answer = await send(url, exchange);
  const text = await textOf(answer);
  assert(TAKEN.includes(answer.statusCode ?? 0), `${answer.statusCode} ${text.slice(0, 300)}`);
  return text;
}

/** How many bytes such an answer has; they are dropped as they come. */
export async function bytesFrom(url: string, exchange: Exchange): Promise<number> {
  const answer = await send(url, exchange);
  let bytes = 0;
  for await (const chunk of answer) bytes += (chunk as Uint8Array).length;
  assert(TAKEN.includes(answer.statusCode ?? 0), `${answer.statusCode} of ${url}`);
  return bytes;
}

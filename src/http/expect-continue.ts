import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose senders wait for a `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Called by the server in place of Node's own answer, which would come before anybody has looked at the request. */
export function expectContinue(incoming: IncomingMessage): void {
  waiting.add(incoming);
}

/** Asks for the body, once path, token, type and length are right. */
export function sendContinue(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.headers.expect !== undefined && waiting.delete(incoming)) outgoing.writeContinue();
}

import type { Context } from 'hono';
import { invalid } from '../model/errors.ts';
import { HEADERS_MAX } from '../model/limits.ts';
import { type Header, KIND_HEADER, type Message } from '../model/message.ts';
import { requireAsciiHeaders } from './function-environment.ts';
import { nodeEnvironment } from './node-environment.ts';

const PREFIX = 'kelp-header-';
const TRACE = 'traceparent';

/**
 * The message headers that came as `Kelp-Header-<name>` lines, in order, one for each line where the runtime still has
 * the lines: Node's server has, the web's Headers join equal names with a comma.
 */
export function messageHeadersOf(context: Context): Header[] {
  requireAsciiHeaders(context);
  const lines = nodeEnvironment(context)?.incoming.rawHeaders ?? [...context.req.raw.headers].flat();
  const headers: Header[] = [];
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const name = lines[index] ?? '';
    if (name.length < PREFIX.length || name.slice(0, PREFIX.length).toLowerCase() !== PREFIX) continue;
    headers.push(headerOf(name.slice(PREFIX.length).toLowerCase(), lines[index + 1] ?? ''));
  }
  return headers;
}

function headerOf(name: string, value: string): Header {
  if (name === '') throw invalid('invalid-headers', 'Kelp-Header-', 'a message header needs a name');
  if (name === KIND_HEADER) throw invalid('invalid-headers', `Kelp-Header-${KIND_HEADER}`, `${KIND_HEADER} is set by Kelp alone`);
  // A header's characters stand for bytes; what the sender wrote in UTF-8 comes back as such.
  return { name, value: Buffer.from(value, 'latin1') };
}

/** The message with the request's trace, unless it brings one or is full. */
export function withTrace(message: Message, traceParent: string | undefined): Message {
  if (traceParent === undefined) return message;
  const { headers } = message;
  const own = headers.some(({ name }) => name === TRACE);
  const count = headers.length - Number(headers.some(({ name }) => name === KIND_HEADER));
  if (own || count >= HEADERS_MAX) return message;
  return { ...message, headers: [...headers, { name: TRACE, value: Buffer.from(traceParent, 'latin1') }] };
}

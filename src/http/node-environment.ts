import type { Context } from 'hono';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** What Node's server passes along with each request. */
export type NodeEnvironment = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };

/** Undefined in every other runtime. */
export function nodeEnvironment(context: Context): NodeEnvironment | undefined {
  const env = context.env as Partial<NodeEnvironment> | undefined;
  return env?.incoming === undefined || env.outgoing === undefined ? undefined : (env as NodeEnvironment);
}

import type { Context } from 'hono';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { invalid } from '../model/errors.ts';

/** What a function's runtime passes along with each request. */
export type FunctionEnvironment = {
  readonly event: APIGatewayProxyEventV2;
  readonly lambdaContext?: { getRemainingTimeInMillis(): number };
};

/** Undefined in every other runtime. */
export function functionEnvironment(env: unknown): FunctionEnvironment | undefined {
  const { event } = (env ?? {}) as Partial<FunctionEnvironment>;
  return event === undefined ? undefined : (env as FunctionEnvironment);
}

/** Events whose body was no base64 though they said so: they went on without it, so that path and token are judged first. */
const damaged = new WeakSet<APIGatewayProxyEventV2>();

/** One class, repeated: a repeated group would take a stack frame each time, and bodies have millions of characters. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const isBase64 = (text: string): boolean => text.length % 4 === 0 && BASE64.test(text);

/** The event as the app can take it. A body that can't be decoded is taken off and remembered. */
export function checkedEvent(event: APIGatewayProxyEventV2): APIGatewayProxyEventV2 {
  if (!event.isBase64Encoded || event.body === undefined || isBase64(event.body)) return event;
  const { body: _, ...rest } = event;
  const checked = { ...rest, isBase64Encoded: false };
  damaged.add(checked);
  return checked;
}

/**
 * Error `invalid-body`: the event's body is damaged, or there is none. A sender's empty body comes without one, too; the
 * length it sent tells it apart from a body that was lost on the way.
 */
export function requireEventBody(context: Context): void {
  const event = functionEnvironment(context.env)?.event;
  if (event === undefined) return;
  if (damaged.has(event)) throw invalid('invalid-body', 'body', 'the event says base64, and the body is not');
  const isEmpty = event.body === undefined || event.body === '';
  if (isEmpty && event.headers['content-length'] !== '0') throw invalid('invalid-body', 'body', 'the event has no body');
}

/** Whether an event has no body, and nobody said that it would: what a request may be that needs none. */
export function isWithoutBody(context: Context): boolean {
  const event = functionEnvironment(context.env)?.event;
  if (event === undefined || damaged.has(event)) return false;
  return (event.body === undefined || event.body === '') && event.headers['content-length'] === undefined;
}

/** Error `invalid-header`: the adapter would percent-encode what isn't ASCII, and so store another value than was sent. */
export function requireAsciiHeaders(context: Context): void {
  const headers = functionEnvironment(context.env)?.event.headers ?? {};
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase().startsWith('kelp-') && !/^[\x00-\x7f]*$/.test(value ?? '')) {
      throw invalid('invalid-header', 'Kelp-Header-', 'headers of a function are ASCII');
    }
  }
}

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

/**
 * The event as the app can take it. A body that can't be decoded is taken off and remembered; that of a GET, which means nothing
 * and which no Request could carry, is taken off. Error `invalid-event`, for whoever called the function, and not for a client: it
 * is no request of payload 2.0. An answer, whatever it says, would be success to a queue, which then deletes its messages.
 */
export function checkedEvent(event: unknown): APIGatewayProxyEventV2 {
  if (!isRequest(event)) throw invalid('invalid-event', 'version', NO_REQUEST);
  return withReadableBody(withoutCookies(event));
}

/** They mean nothing here, and the adapter takes none that is not Latin-1, as a browser may well have one. */
function withoutCookies(event: APIGatewayProxyEventV2): APIGatewayProxyEventV2 {
  const { cookies: _, ...rest } = event;
  return rest;
}

function withReadableBody(event: APIGatewayProxyEventV2): APIGatewayProxyEventV2 {
  if (BODILESS.has(event.requestContext.http.method)) return withoutBody(event);
  if (!event.isBase64Encoded || isBase64(event.body ?? '')) return event;
  const checked = withoutBody(event);
  damaged.add(checked);
  return checked;
}

const NO_REQUEST = 'this function takes requests of API Gateway (payload 2.0) and of function URLs, and nothing was done with this event';
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** By what tells one from the events of everything else that a function can be bound to. */
function isRequest(event: unknown): event is APIGatewayProxyEventV2 {
  const { version, rawPath, headers, requestContext } = (event ?? {}) as Partial<APIGatewayProxyEventV2>;
  const method: unknown = requestContext?.http?.method;
  const hasHeaders = typeof headers === 'object' && headers !== null;
  return version === '2.0' && typeof rawPath === 'string' && hasHeaders && typeof method === 'string';
}

function withoutBody(event: APIGatewayProxyEventV2): APIGatewayProxyEventV2 {
  const { body: _, ...rest } = event;
  return { ...rest, isBase64Encoded: false };
}

/**
 * Error `invalid-body`: the event's body is damaged, or there is none. A sender's empty body comes without one, too; the
 * length it sent tells it apart from a body that was lost on the way.
 */
export function requireEventBody(context: Context): void {
  const event = functionEnvironment(context.env)?.event;
  if (event === undefined) return;
  if (damaged.has(event)) throw invalid('invalid-body', 'body', 'the event says base64, and the body is not');
  if (isEmpty(event) && event.headers['content-length'] !== '0') throw invalid('invalid-body', 'body', 'the event has no body');
}

/** Whether an event has no body, and nobody said that it would: what a request may be that needs none. */
export function isWithoutBody(context: Context): boolean {
  const event = functionEnvironment(context.env)?.event;
  if (event === undefined || damaged.has(event)) return false;
  return isEmpty(event) && event.headers['content-length'] === undefined;
}

/** Some say `null` where there is none. */
const isEmpty = ({ body }: APIGatewayProxyEventV2): boolean => (body ?? '') === '';

/** Error `invalid-header`: the adapter would percent-encode what isn't ASCII, and so store another value than was sent. */
export function requireAsciiHeaders(context: Context): void {
  const headers = functionEnvironment(context.env)?.event.headers ?? {};
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase().startsWith('kelp-') && !/^[\x00-\x7f]*$/.test(value ?? '')) {
      throw invalid('invalid-header', 'Kelp-Header-', 'headers of a function are ASCII');
    }
  }
}

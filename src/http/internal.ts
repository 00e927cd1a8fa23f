import type { Context } from 'hono';
import { hash } from 'node:crypto';
import { encodeProblem } from '../format/peer-problem.ts';
import { PEER_BROKER_HEADER, PEER_METHOD, PEER_PATH, PEER_SIGNATURE_HEADER } from '../format/peer-request.ts';
import { KelpError } from '../model/errors.ts';
import type { BrokerId } from '../model/ids.ts';
import { PEER_REQUEST_BYTES_MAX } from '../model/limits.ts';
import type { PeerOperation } from '../ports/peers.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { answer } from './answer.ts';
import type { Call, Handler } from './call.ts';
import type { Internal } from './dependencies.ts';
import { problemOf } from './problem.ts';
import { readBody } from './read-body.ts';
import type { Serve } from './serve.ts';

/** The hash of the body that each request under way was signed for. */
type Signed = WeakMap<Context, string>;
type Answers = (context: Context) => Promise<Response>;
export type InternalDeps = {
  readonly internal: Internal;
  readonly telemetry: Telemetry;
  readonly serve: Serve;
  /** As for a path that isn't there. */
  readonly unmatched: Answers;
};

const MISDIRECTED = 421;
const BYTES_TYPE = 'application/octet-stream';

/**
 * Requests of brokers to each other. Without a right signature there is no such path, whatever else is right or wrong and
 * whatever token comes along or not; with one, no token is needed. The signature covers the body's hash, and so is checked before
 * the body is read: nobody else can make this broker read one.
 */
export function createInternalRoute(deps: InternalDeps): Answers {
  const { internal, serve, unmatched } = deps;
  const signed: Signed = new WeakMap();
  const routes = new Map(
    Object.entries(internal.operations).map(([name, operation]) => {
      const path = PEER_PATH + name;
      return [path, serve({ name: path, method: PEER_METHOD, open: true }, createHandler(deps, operation, signed))] as const;
    }),
  );
  return (context) => {
    const route = routes.get(context.req.path);
    const bodyHash = signedHash(internal, context);
    if (route === undefined || bodyHash === undefined) return unmatched(context);
    signed.set(context, bodyHash);
    return route(context);
  };
}

function signedHash(internal: Internal, context: Context): string | undefined {
  const { method, path, raw } = context.req;
  if (raw.url.includes('?')) return undefined;
  const broker = context.req.header(PEER_BROKER_HEADER) ?? '';
  return internal.verify({ method, path, broker, signature: context.req.header(PEER_SIGNATURE_HEADER) });
}

function createHandler({ internal, telemetry, unmatched }: InternalDeps, operation: PeerOperation, signed: Signed): Handler {
  // It proves to the other one that it was this broker that answered, and nobody on the way.
  const headers = { [PEER_BROKER_HEADER]: internal.self };
  const problem = (error: unknown, status = problemOf(error).status): Response =>
    new Response(encodeProblem(error) as Uint8Array<ArrayBuffer>, {
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    });
  return async (call: Call) => {
    const { context, signal, hold } = call;
    if (context.req.header(PEER_BROKER_HEADER) !== internal.self) return problem(anotherBroker(internal.self), MISDIRECTED);
    try {
      const body = await readBody(context, { bytesMax: PEER_REQUEST_BYTES_MAX, hold, signal });
      if (hash('sha256', body) !== signed.get(context)) return await unmatched(context);
      return answer(await operation(body, signal), BYTES_TYPE, headers);
    } catch (error) {
      if (!(error instanceof KelpError)) telemetry.log('error', 'a request of another broker failed', { error: String(error) });
      return problem(error);
    }
  };
}

const anotherBroker = (self: BrokerId): KelpError => new KelpError('unavailable', 'another-broker', `this is broker ${self}`);

import { Hono } from 'hono';
import { PEER_METHOD, PEER_PATH } from '../format/peer-request.ts';
import { KelpError } from '../model/errors.ts';
import { noContent } from './answer.ts';
import type { Handler, Handlers } from './call.ts';
import type { AppDependencies } from './dependencies.ts';
import { createInternalRoute } from './internal.ts';
import { createAbout, createLivez } from './operations.ts';
import { methodsOf, type Operation, ROUTES } from './paths.ts';
import { createServe } from './serve.ts';

/**
 * The HTTP API of PROTOCOL.md, as far as there are handlers: a function from Request to Response, in every runtime. Every path is
 * known, and what another app of this Kelp answers is refused as such.
 */
export function createApp(deps: AppDependencies, given: Handlers): Hono {
  const serve = createServe(deps);
  const handlers: Partial<Record<Operation, Handler>> = { livez: createLivez(deps), about: createAbout(deps), ...given };
  const app = new Hono();
  for (const { operation, method, path, open } of ROUTES) {
    app.on(method, path, serve({ name: path, method, open: open === true }, handlers[operation] ?? elsewhere));
  }
  const none = serve({ name: 'none', method: 'any', open: false }, unmatched);
  // Nothing is there for whoever is no broker of this Kelp, with or without a token.
  const nothing = serve({ name: 'none', method: 'any', open: true }, unmatched);
  const { internal, telemetry } = deps;
  if (internal !== undefined) {
    app.on(PEER_METHOD, `${PEER_PATH}:operation`, createInternalRoute({ internal, telemetry, serve, unmatched: nothing }));
  }
  app.notFound((context) => (context.req.path.startsWith(PEER_PATH) ? nothing : none)(context));
  return app;
}

const elsewhere: Handler = () => {
  throw new KelpError('not-found', 'path-not-found', 'this function does not answer this path: ask at the address of all of Kelp');
};

/** A path that isn't there, or a method that it doesn't take. */
const unmatched: Handler = ({ context }) => {
  const methods = methodsOf(context.req.path);
  if (methods.length === 0) throw new KelpError('not-found', 'path-not-found', 'no such path; GET /openapi.json lists them');
  if (context.req.method === 'OPTIONS') return noContent({ allow: methods.join(', ') });
  throw new KelpError('invalid', 'method-not-allowed', `allowed: ${methods.join(', ')}`, { extra: { allow: methods } });
};

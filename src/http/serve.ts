import type { Context } from 'hono';
import { invalid, KelpError } from '../model/errors.ts';
import { RUNTIME_MARGIN_MS } from '../model/function-limits.ts';
import { BODIES_BYTES_MAX } from '../model/limits.ts';
import type { Attributes } from '../ports/telemetry.ts';
import { createAuthenticate } from './authenticate.ts';
import { createBodyBudget } from './body-budget.ts';
import type { Call, Handler } from './call.ts';
import { startDeadline, timedOut } from './deadline.ts';
import type { AppDependencies } from './dependencies.ts';
import { functionEnvironment } from './function-environment.ts';
import { nodeEnvironment } from './node-environment.ts';
import { isOddPath } from './paths.ts';
import { type Problem, problemOf, problemResponse } from './problem.ts';
import { timeoutMsOf } from './request-headers.ts';

/** What the wrapper needs to know about a route. `name`: low in cardinality, for metrics. */
export type ServedRoute = { readonly name: string; readonly method: string; readonly open: boolean };

/** What of a call is there before it begins. */
type Started = Pick<Call, 'context' | 'onProblem'>;

/** Makes a Hono handler of ours. */
export type Serve = (route: ServedRoute, handler: Handler) => (context: Context) => Promise<Response>;

/**
 * What is the same for every request: token, path, deadline, memory for the body, errors as problems, metrics. One wrapper and
 * not a chain of middleware: on the way of a small publish every layer is felt.
 */
export function createServe(deps: AppDependencies): Serve {
  const { clock, telemetry, runtime } = deps;
  const authenticate = createAuthenticate(deps.rootToken);
  const budget = createBodyBudget(BODIES_BYTES_MAX);
  const hold = (bytes: number): void => {
    if (!budget.take(bytes)) throw new KelpError('unavailable', 'unavailable', 'this broker holds as many requests as it may');
  };
  const timeoutMs = (context: Context): number => {
    const ownMs = timeoutMsOf(context);
    const leftMs = runtime.remainingMs(context.env);
    if (leftMs === undefined) return ownMs;
    if (leftMs <= RUNTIME_MARGIN_MS) throw timedOut();
    return Math.min(ownMs, leftMs - RUNTIME_MARGIN_MS);
  };

  const run = async (route: ServedRoute, handler: Handler, { context, onProblem }: Started): Promise<Response> => {
    if (!route.open) authenticate(context.req.header('authorization'));
    if (isOddPath(targetOf(context))) throw invalid('invalid-path', 'path', 'no empty, . or .. segments');
    const deadline = startDeadline(clock, timeoutMs(context), context.req.raw.signal);
    let held = 0;
    const holdForCall = (bytes: number): void => {
      hold(bytes);
      held += bytes;
    };
    try {
      const { signal, remainingMs } = deadline;
      return await handler({ context, signal, remainingMs, hold: holdForCall, onProblem });
    } finally {
      deadline.end();
      budget.give(held);
    }
  };

  return (route, handler) => {
    const attributesOf = createAttributes(route);
    return async (context) => {
      const startedMs = clock.monotonicMs();
      telemetry.adjust('http.server.active_requests', 1);
      let response: Response;
      let code: string | undefined;
      let headers: Readonly<Record<string, string>> = {};
      const onProblem: Call['onProblem'] = (given) => {
        headers = given;
      };
      try {
        response = await run(route, handler, { context, onProblem });
      } catch (error) {
        const problem = problemOf(error);
        if (problem.status >= 500) report(deps, { route, problem, error });
        response = problemResponse(problem, { ...headers, ...headersOf(problem) });
        code = problem.code;
      }
      telemetry.adjust('http.server.active_requests', -1);
      telemetry.record('http.server.request.duration', (clock.monotonicMs() - startedMs) / 1_000, attributesOf(response.status, code));
      return response;
    };
  };
}

/** The target as the client wrote it, where the runtime still has it. */
function targetOf(context: Context): string {
  const { raw } = context.req;
  const own = nodeEnvironment(context)?.incoming.url ?? functionEnvironment(context.env)?.event.rawPath;
  return own ?? raw.url.slice(raw.url.indexOf('/', raw.url.indexOf('//') + 2));
}

/** Headers that go with a problem. */
function headersOf(problem: Problem): Record<string, string> {
  if (problem.code === 'unauthenticated') return { 'www-authenticate': 'Bearer' };
  if (problem.code === 'unsupported-type' && problem.field === 'Content-Encoding') return { 'accept-encoding': 'gzip, zstd' };
  const allow = problem['allow'];
  return Array.isArray(allow) ? { allow: allow.join(', ') } : {};
}

/** One object for each outcome: metrics of thousands of requests a second make no garbage. */
function createAttributes(route: ServedRoute): (status: number, code: string | undefined) => Attributes {
  const known = new Map<string, Attributes>();
  return (status, code) => {
    const key = `${status} ${code}`;
    let attributes = known.get(key);
    if (attributes === undefined) {
      attributes = {
        'http.request.method': route.method,
        'http.route': route.name,
        'http.response.status_code': String(status),
        // Always there: the exporter fixes a metric's labels by its first use. Empty counts as absent.
        'error.type': code ?? '',
      };
      known.set(key, attributes);
    }
    return attributes;
  };
}

/** Server faults leave a line; it names the error and never what the request held. */
function report({ telemetry }: AppDependencies, fault: { route: ServedRoute; problem: Problem; error: unknown }): void {
  const { route, problem, error } = fault;
  const own = error instanceof KelpError;
  telemetry.log(problem.code === 'internal' ? 'error' : 'warn', 'request failed', {
    route: `${route.method} ${route.name}`,
    status: problem.status,
    code: own ? error.code : 'internal',
    error: error instanceof Error && !own ? (error.stack ?? error.message) : String(error),
    ...(own && error.cause !== undefined
      ? { cause: error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : typeof error.cause }
      : {}),
  });
}

import type { Context as LambdaContext, APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import { invalid, type KelpError } from '../model/errors.ts';
import { FUNCTION_ANSWER_BYTES_MAX, RUNTIME_MARGIN_MS } from '../model/function-limits.ts';
import type { Clock } from '../ports/clock.ts';
import { timedOut } from './deadline.ts';
import type { Runtime } from './dependencies.ts';
import { checkedEvent, functionEnvironment } from './function-environment.ts';
import { PROBLEM_HEADERS, problemOf, problemText } from './problem.ts';

export type FunctionHandler = (event: APIGatewayProxyEventV2, context: LambdaContext) => Promise<APIGatewayProxyStructuredResultV2>;

/** The invocations of one instance. Most platforms have one at a time; some have several. */
export type Invocations = {
  /** When it resolves, nothing runs on, unless for other invocations: a frozen task is a lost one. */
  run<T>(context: LambdaContext, answer: () => Promise<T>): Promise<T>;
};

export type InvocationsDeps = {
  readonly clock: Clock;
  /** Resolves when no work that a request has left behind is under way; rejects with the signal's reason. */
  settled(signal: AbortSignal): Promise<void>;
};

/** No answer in pieces, and no more time than the platform leaves. */
export const functionRuntime: Runtime = {
  streams: false,
  remainingMs: (env) => functionEnvironment(env)?.lambdaContext?.getRemainingTimeInMillis(),
};

const TEXT = /^(?:text\/|application\/(?:[a-z.]+\+)?json|application\/x-ndjson)/;

/** The app behind API Gateway (payload 2.0) or a function URL. */
export function createFunctionHandler(app: Hono, invocations: Invocations): FunctionHandler {
  const respond = adapted(app, { isContentTypeBinary: (type) => !TEXT.test(type) });
  return async (event, context) => fitting(await invocations.run(context, () => respond(checkedEvent(event), context)));
}

const NO_REQUEST = 'method, path or headers are not those of an HTTP request';

/** By the platform's adapter. What it can make no request of, it answers by itself, as an error of its own: here, that is a problem. */
export function adapted(app: Pick<Hono, 'fetch'>, options?: Parameters<typeof handle>[1]): FunctionHandler {
  return async (event, context) => {
    let isRequest = false;
    const asked: Pick<Hono, 'fetch'> = {
      fetch(...request) {
        isRequest = true;
        return app.fetch(...request);
      },
    };
    const result = await (handle(asked as Hono, options) as FunctionHandler)(event, context);
    return isRequest ? result : refusalOf(invalid('invalid-request', 'request', NO_REQUEST));
  };
}

export function createInvocations(deps: InvocationsDeps): Invocations {
  let underWay = 0;
  let waiting: AbortController | undefined;
  return {
    async run(context, answer) {
      // Whoever waits below need not any more: while another one is under way, nothing is frozen.
      waiting?.abort();
      underWay += 1;
      try {
        return await answer();
      } finally {
        underWay -= 1;
        // The last one waits for the work behind all. Among many that come and go, each would wait for ever.
        if (underWay === 0) {
          const own = new AbortController();
          waiting = own;
          await settle(deps, context, own);
          if (waiting === own) waiting = undefined;
        }
      }
    },
  };
}

/** Waits for what requests have left behind, for as long as the platform leaves time. */
async function settle({ clock, settled }: InvocationsDeps, context: LambdaContext, freezing: AbortController): Promise<void> {
  const done = new AbortController();
  clock.sleep(Math.max(0, context.getRemainingTimeInMillis() - RUNTIME_MARGIN_MS), done.signal).then(
    () => freezing.abort(timedOut()),
    () => undefined, // woken by `done`, which is all that can abort it
  );
  try {
    await settled(freezing.signal);
  } catch (error) {
    // What isn't done by then has a bound of its own, and is done by whoever finds it undone.
    if (error !== freezing.signal.reason) throw error;
  } finally {
    done.abort();
  }
}

const TOO_LARGE =
  'the answer is larger than a function gives as a whole: ask for fewer messages, in another form, or at a URL that streams';

/** An answer that the platform would refuse would be its own 5xx, which says nothing. */
function fitting(result: APIGatewayProxyStructuredResultV2): APIGatewayProxyStructuredResultV2 {
  const { body = '' } = result;
  // At most two characters of the platform's JSON, or three bytes, stand for one of ours.
  if (body.length * 3 <= FUNCTION_ANSWER_BYTES_MAX || Buffer.byteLength(JSON.stringify(result)) <= FUNCTION_ANSWER_BYTES_MAX) return result;
  return refusalOf(invalid('too-large', 'maxBytes', TOO_LARGE));
}

function refusalOf(error: KelpError): APIGatewayProxyStructuredResultV2 {
  const problem = problemOf(error);
  return { statusCode: problem.status, headers: { ...PROBLEM_HEADERS }, body: problemText(problem), isBase64Encoded: false };
}

import type { Context as LambdaContext, APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import { invalid } from '../model/errors.ts';
import { FUNCTION_ANSWER_BYTES_MAX, RUNTIME_MARGIN_MS } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import { timedOut } from './deadline.ts';
import type { Runtime } from './dependencies.ts';
import { checkedEvent, functionEnvironment } from './function-environment.ts';
import { PROBLEM_HEADERS, problemOf, problemText } from './problem.ts';

export type FunctionHandler = (event: APIGatewayProxyEventV2, context: LambdaContext) => Promise<APIGatewayProxyStructuredResultV2>;

export type FunctionOptions = {
  readonly clock: Clock;
  /** Resolves when no work that a request has left behind is under way; rejects with the signal's reason. */
  settled(signal: AbortSignal): Promise<void>;
};

/** No answer in pieces, and no more time than the platform leaves. */
export const functionRuntime: Runtime = {
  streams: false,
  remainingMs: (env) => functionEnvironment(env)?.lambdaContext?.getRemainingTimeInMillis(),
};

const TEXT = /^(?:text\/|application\/(?:problem\+)?json|application\/x-ndjson)/;

/** The app behind API Gateway (payload 2.0) or a function URL. When it returns, nothing runs on: a frozen task is a lost one. */
export function createFunctionHandler(app: Hono, options: FunctionOptions): FunctionHandler {
  const respond = handle(app, { isContentTypeBinary: (type) => !TEXT.test(type) }) as FunctionHandler;
  return async (event, context) => {
    const result = await respond(checkedEvent(event), context);
    await settle(options, context);
    return fitting(result);
  };
}

/** Waits for what a request has left behind, for as long as the platform leaves time. */
export async function settle({ clock, settled }: FunctionOptions, context: LambdaContext): Promise<void> {
  const freezing = new AbortController();
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

/** An answer that the platform would refuse would be its own 5xx, which says nothing. */
function fitting(result: APIGatewayProxyStructuredResultV2): APIGatewayProxyStructuredResultV2 {
  const { body = '' } = result;
  // At most two characters of the platform's JSON, or three bytes, stand for one of ours.
  if (body.length * 3 <= FUNCTION_ANSWER_BYTES_MAX || Buffer.byteLength(JSON.stringify(result)) <= FUNCTION_ANSWER_BYTES_MAX) return result;
  const problem = problemOf(invalid('too-large', 'maxBytes', 'the answer is larger than a function may give: ask for less'));
  return { statusCode: problem.status, headers: { ...PROBLEM_HEADERS }, body: problemText(problem), isBase64Encoded: false };
}

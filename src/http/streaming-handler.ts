import type { APIGatewayProxyEventV2, Context as LambdaContext, StreamifyHandler } from 'aws-lambda';
import type { Hono } from 'hono';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkedEvent } from './function-environment.ts';
import { adapted, type Invocations } from './function-handler.ts';
import { PROBLEM_HEADERS } from './problem.ts';

/** Called by a platform that streams. */
export type StreamingHandler = StreamifyHandler<APIGatewayProxyEventV2>;

/** What the platform's Node has for functions whose answers stream. */
export type StreamingPlatform = typeof awslambda;

/**
 * The app behind a function's own URL, which has to be of mode RESPONSE_STREAM: answers go piece by piece, for as long as the
 * function does. Whoever takes an answer as a whole, as API Gateway does, needs another handler (createFunctionHandler).
 */
export function createStreamingHandler(app: Hono, platform: StreamingPlatform, invocations: Invocations): StreamingHandler {
  return platform.streamifyResponse<APIGatewayProxyEventV2>((event, stream, context) =>
    invocations.run(context, async () => send(platform, await answerOf(app, checkedEvent(event), context), stream)),
  );
}

/** The adapter makes the request, and gets an answer of no meaning; where it can't, what it says is the answer. */
async function answerOf(app: Hono, event: APIGatewayProxyEventV2, context: LambdaContext): Promise<Response> {
  let response: Response | undefined;
  const taking = {
    fetch: async (...asked: Parameters<Hono['fetch']>): Promise<Response> => {
      response = await app.fetch(...asked);
      return new Response(null, { status: 204 });
    },
  };
  const refusal = await adapted(taking)(event, context);
  return response ?? new Response(refusal.body ?? null, { status: refusal.statusCode ?? 500, headers: PROBLEM_HEADERS });
}

async function send(platform: StreamingPlatform, response: Response, stream: Writable): Promise<void> {
  // The platform sends chunks, of which nobody knows how many come.
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'content-length'));
  const out = platform.HttpResponseStream.from(stream, { statusCode: response.status, headers });
  // Status and headers leave with the first write, be there a body or not.
  out.write('');
  try {
    await pipeline(response.body === null ? [] : Readable.fromWeb(response.body), out);
  } catch (error) {
    if (!hasReaderLeft(error)) throw error;
  }
}

const hasReaderLeft = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';

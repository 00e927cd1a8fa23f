import type { APIGatewayProxyEventV2, Context as LambdaContext, StreamifyHandler } from 'aws-lambda';
import type { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createFunctionHandler, type FunctionHandler, type Invocations } from './function-handler.ts';

export type StreamingApps = {
  /** Answers whole: for API Gateway. */
  readonly whole: Hono;
  /** Its answers may go on for as long as the function does. */
  readonly streamed: Hono;
};

/** Called by a platform that streams, and by one that doesn't. */
export type StreamingHandler = FunctionHandler & StreamifyHandler<APIGatewayProxyEventV2>;

/** What the platform's Node has for functions whose answers stream. */
export type StreamingPlatform = typeof awslambda;

/**
 * Both apps by one handler. What comes by the function's own URL, which has to be of mode RESPONSE_STREAM, is answered piece by
 * piece; anybody else takes the handler's result as a whole, which here is what is written.
 */
export function createStreamingHandler(apps: StreamingApps, platform: StreamingPlatform, invocations: Invocations): StreamingHandler {
  const whole = createFunctionHandler(apps.whole, invocations);
  const handler = async (event: APIGatewayProxyEventV2, stream: Writable | LambdaContext, context: LambdaContext): Promise<unknown> => {
    // Platforms on one's own machine have the names without the streams, and call as always.
    if (!isStream(stream)) return whole(event, stream);
    if (isOfUrl(event)) {
      return invocations.run(context, async () => send(platform, await answerOf(apps.streamed, event, context), stream));
    }
    return pipeline([JSON.stringify(await whole(event, context))], stream);
  };
  return platform.streamifyResponse(handler) as StreamingHandler;
}

const isStream = (given: Writable | LambdaContext): given is Writable => !('getRemainingTimeInMillis' in given);

/** An event that is no request is the other way's to refuse. */
const isOfUrl = ({ requestContext }: { readonly requestContext?: { readonly domainName?: string } }): boolean =>
  requestContext?.domainName?.includes('.lambda-url.') === true;

/** The adapter makes the request, and gets an answer of no meaning; its own, where it has refused the event, is the answer. */
async function answerOf(app: Hono, event: APIGatewayProxyEventV2, context: LambdaContext): Promise<Response> {
  let response: Response | undefined;
  const taking = {
    fetch: async (...asked: Parameters<Hono['fetch']>): Promise<Response> => {
      response = await app.fetch(...asked);
      return new Response(null, { status: 204 });
    },
  };
  const refusal = await (handle(taking as Hono) as FunctionHandler)(event, context);
  return response ?? new Response(refusal.body ?? null, { status: refusal.statusCode ?? 500 });
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

import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import type { FunctionHandler } from '../../src/http/function-handler.ts';
import { send, type Answer, type Sending } from './test-app.ts';

/** An event as API Gateway (payload 2.0) makes it; bodies of other types than text and JSON come in base64. */
export function eventOf(method: string, target: string, event: Partial<APIGatewayProxyEventV2> = {}): APIGatewayProxyEventV2 {
  const [rawPath = '', rawQueryString = ''] = target.split('?');
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString,
    // Several of one name are joined by a comma there; what counts is the string above.
    ...(rawQueryString === '' ? {} : { queryStringParameters: Object.fromEntries(new URLSearchParams(rawQueryString)) }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'k3lp0000aa',
      domainName: 'k3lp0000aa.execute-api.eu-west-1.amazonaws.com',
      domainPrefix: 'k3lp0000aa',
      http: { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' },
      requestId: 'JKJaXmPLvHcESHA=',
      routeKey: '$default',
      stage: '$default',
      time: '01/Jan/2026:00:00:00 +0000',
      timeEpoch: 1_767_225_600_000,
    },
    isBase64Encoded: false,
    ...event,
    headers: { ...FORWARDED, host: 'k3lp0000aa.execute-api.eu-west-1.amazonaws.com', ...event.headers },
  };
}

/** The same by a function's own URL. */
export function urlEventOf(method: string, target: string, event: Partial<APIGatewayProxyEventV2> = {}): APIGatewayProxyEventV2 {
  const domainPrefix = 'yxmplsz7l2h6kuxhq3ovn5kwam0aaaaa';
  const host = `${domainPrefix}.lambda-url.eu-west-1.on.aws`;
  const gateway = eventOf(method, target, { ...event, headers: { host, ...event.headers } });
  const { requestContext } = gateway;
  return {
    ...gateway,
    requestContext: {
      ...requestContext,
      accountId: 'anonymous',
      apiId: domainPrefix,
      domainName: host,
      domainPrefix,
      requestId: 'e1506fd5',
    },
  };
}

/** What stands in front of a function adds to each request. */
const FORWARDED = {
  'x-amzn-trace-id': 'Root=1-65f0a0b1-0123456789abcdef01234567',
  'x-forwarded-for': '192.0.2.1',
  'x-forwarded-port': '443',
  'x-forwarded-proto': 'https',
};

/** `leftMs`: what the platform leaves from now on, by this clock. */
export function contextOf(leftMs = 29_000, monotonicMs = (): number => performance.now()): Context {
  const endsMs = monotonicMs() + leftMs;
  return { getRemainingTimeInMillis: () => Math.max(0, endsMs - monotonicMs()) } as Context;
}

export function bytesOf({ body = '', isBase64Encoded }: APIGatewayProxyStructuredResultV2): Uint8Array {
  return Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8');
}

/**
 * A request through the handler as the platform would carry it: text bodies as they are, others in base64, headers of equal
 * names joined; the answer is held against the documents.
 */
export function sendEvent(handler: FunctionHandler, method: string, path: string, sending: Sending = {}): Promise<Answer> {
  const fetch = async (request: Request): Promise<Response> => {
    const bytes = Buffer.from(await request.arrayBuffer());
    const isText = /json|^text\//.test(request.headers.get('content-type') ?? '') && !request.headers.has('content-encoding');
    const result = await handler(
      eventOf(method, path, {
        headers: Object.fromEntries([...request.headers, ['content-length', String(bytes.length)]]),
        ...(bytes.length === 0 ? {} : { body: bytes.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText }),
      }),
      contextOf(),
    );
    const body = result.statusCode === 204 ? null : (bytesOf(result) as Uint8Array<ArrayBuffer>);
    return new Response(body, { status: result.statusCode ?? 500, headers: result.headers as Record<string, string> });
  };
  return send(fetch, method, path, sending);
}

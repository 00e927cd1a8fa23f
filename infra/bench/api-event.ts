import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';

/** API Gateway's, less what the answer takes. */
const REQUEST_MS_MAX = 29_000;

export type ApiRequest = {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
};

/** As API Gateway makes it (payload 2.0): text as it is, all else in base64. */
export function apiEvent({ method, target, headers, body }: ApiRequest): APIGatewayProxyEventV2 {
  const { pathname, search } = new URL(target, 'http://kelp');
  const isText = /^text\/|json/.test(headers['content-type'] ?? '');
  const isThere = body !== undefined && body.length > 0;
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: { ...headers },
    requestContext: {
      accountId: 'bench',
      apiId: 'bench',
      domainName: 'kelp',
      domainPrefix: 'kelp',
      http: { method, path: pathname, protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'bench' },
      requestId: 'bench',
      routeKey: '$default',
      stage: '$default',
      time: '',
      timeEpoch: Date.now(),
    },
    ...(isThere ? { body: body.toString(isText ? 'utf8' : 'base64') } : {}),
    isBase64Encoded: isThere && !isText,
  };
}

/** What is left of the time, from now on. */
export function invocationContext(ms = REQUEST_MS_MAX): Pick<Context, 'getRemainingTimeInMillis'> {
  const endMs = performance.now() + ms;
  return { getRemainingTimeInMillis: () => Math.max(0, endMs - performance.now()) };
}

import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import fc from 'fast-check';
import { eventOf, urlEventOf } from './function-events.ts';
import { TOKEN } from './test-app.ts';

/** `leftMs`: what the platform leaves for it. */
export type OddEvent = { readonly event: APIGatewayProxyEventV2; readonly leftMs: number };

const PARAMETERS = ['offset', 'timestamp', 'from', 'limit', 'maxBytes', 'waitMs', 'inlineBytes', 'cursor'];
const HEADERS = [
  'kelp-timeout-ms',
  'last-event-id',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'if-none-match',
  'range',
  'host',
  'expect',
  'cookie',
];
const MEDIA = [
  '*/*',
  'application/json',
  'application/x-ndjson',
  'application/vnd.kelp.batch',
  'application/vnd.kelp.references+json',
  'text/event-stream',
  'text/*;q=0',
  'text/html',
  ',;q=,',
  'application/json;q=9',
];
const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'TRACE', 'CONNECT', 'get', ''];
const NUMBERS = ['0', '1', '3', '4', '1000', '16777216', '9007199254740992', '-1', '1e9', '9'.repeat(400), 'earliest', 'latest'];
const TEXTS = ['', ' ', '%', '%00', '%ff', '%2f', '..', '../..', '\u0000', '\ud800', 'é', '€', '\r\nx: y', '*', 'null'];

const odd = fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 20 }), fc.constantFrom(...TEXTS), fc.constantFrom(...NUMBERS));
/** Mostly of the known ones. */
const orOdd = (...known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: odd });

/** What the platform's types say of these does not bind whoever invokes a function by hand. */
const rest = fc.record(
  {
    body: fc.oneof(odd, fc.constantFrom<unknown>(null, undefined, 7, {}, 'eA==')),
    isBase64Encoded: fc.constantFrom<unknown>(true, 'yes', null),
    cookies: fc.oneof(fc.array(odd, { maxLength: 3 }), fc.constantFrom<unknown>(null, 'a=b')),
    queryStringParameters: fc.constantFrom<unknown>(null, { a: undefined }),
    rawQueryString: fc.oneof(odd, fc.constantFrom<unknown>(null, undefined)),
  },
  { requiredKeys: [] },
);

/** Requests of payload 2.0 for a topic and one of its segments, with whatever can be wrong with one. */
export function oddEvents(topic: string, segment: string): fc.Arbitrary<OddEvent> {
  const paths = [`/v1/topics/${topic}/messages`, `/v1/topics/${topic}/segments/${segment}/messages`];
  const part = orOdd('v1', 'topics', topic, 'segments', segment, 'messages', 'uploads', 'brokers');
  const path = fc.oneof(
    { weight: 6, arbitrary: orOdd(...paths, '/v1', '/readyz', `/v1/topics/${topic}`) },
    { weight: 2, arbitrary: fc.array(part, { maxLength: 8 }).map((parts) => `/${parts.join('/')}`) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...paths), odd).map((parts) => parts.join('')) },
  );
  const pair = fc.tuple(orOdd(...PARAMETERS), orOdd(...NUMBERS), orOdd('&', '&', '&&', ';', '='));
  const query = fc.array(pair, { maxLength: 3 }).map((pairs) => pairs.map(([name, value, end]) => `${name}=${value}${end}`).join(''));
  const header = fc.tuple(orOdd(...HEADERS), fc.oneof(odd, fc.constantFrom(`${segment}:1`, '1000', 'gzip')));
  const common = fc.record({
    authorization: fc.oneof({ weight: 9, arbitrary: fc.constant(`Bearer ${TOKEN}`) }, odd),
    accept: orOdd(...MEDIA),
  });
  const headers = fc.tuple(common, fc.array(header, { maxLength: 2 })).map(([first, more]) => ({ ...first, ...Object.fromEntries(more) }));
  return fc
    .record({
      of: fc.constantFrom(eventOf, urlEventOf),
      method: orOdd(...METHODS),
      shape: fc.record({ rawPath: path, rawQueryString: query }),
      headers,
      rest: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: rest }),
      leftMs: fc.oneof(
        { weight: 1, arbitrary: fc.constantFrom(0, 1, 150, 200) },
        { weight: 5, arbitrary: fc.integer({ min: 300, max: 1_500 }) },
      ),
    })
    .map(({ of, method, shape, leftMs, ...more }) => {
      const event = of(method, '/', { headers: more.headers });
      return { leftMs, event: { ...event, ...shape, ...(more.rest as Partial<APIGatewayProxyEventV2>) } };
    });
}

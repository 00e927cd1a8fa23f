/** Every route, in one table. OpenAPI is generated from it, `Allow` is answered from it. */
export type Operation =
  | 'livez'
  | 'readyz'
  | 'metrics'
  | 'openapi'
  | 'about'
  | 'listTopics'
  | 'createTopic'
  | 'getTopic'
  | 'changeTopic'
  | 'deleteTopic'
  | 'publishMessages'
  | 'publishMessage'
  | 'createUpload'
  | 'getUpload'
  | 'readTopic'
  | 'listSegments'
  | 'getSegment'
  | 'readSegment'
  | 'listFiles'
  | 'truncateTopic'
  | 'segmentBrokers'
  | 'splitSegment'
  | 'mergeSegments'
  | 'getScaling'
  | 'rebalance'
  | 'sweep'
  | 'listBrokers'
  | 'getLeader'
  | 'drainBroker';

export type Route = {
  readonly operation: Operation;
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  /** `:name` is one segment of the path. */
  readonly path: string;
  /** Answered without a token. */
  readonly open?: true;
};

const TOPIC = '/v1/topics/:topic';
const SEGMENT = `${TOPIC}/segments/:segment`;

export const ROUTES: readonly Route[] = [
  { operation: 'livez', method: 'GET', path: '/livez', open: true },
  { operation: 'readyz', method: 'GET', path: '/readyz', open: true },
  { operation: 'metrics', method: 'GET', path: '/metrics' },
  { operation: 'openapi', method: 'GET', path: '/openapi.json' },
  { operation: 'about', method: 'GET', path: '/v1' },
  { operation: 'listTopics', method: 'GET', path: '/v1/topics' },
  { operation: 'createTopic', method: 'PUT', path: TOPIC },
  { operation: 'getTopic', method: 'GET', path: TOPIC },
  { operation: 'changeTopic', method: 'PATCH', path: TOPIC },
  { operation: 'deleteTopic', method: 'DELETE', path: TOPIC },
  { operation: 'publishMessages', method: 'POST', path: `${TOPIC}/messages` },
  { operation: 'publishMessage', method: 'POST', path: `${TOPIC}/message` },
  { operation: 'createUpload', method: 'POST', path: `${TOPIC}/uploads` },
  { operation: 'getUpload', method: 'GET', path: `${TOPIC}/uploads/:upload` },
  { operation: 'readTopic', method: 'GET', path: `${TOPIC}/messages` },
  { operation: 'listSegments', method: 'GET', path: `${TOPIC}/segments` },
  { operation: 'getSegment', method: 'GET', path: SEGMENT },
  { operation: 'readSegment', method: 'GET', path: `${SEGMENT}/messages` },
  { operation: 'listFiles', method: 'GET', path: `${TOPIC}/files` },
  { operation: 'truncateTopic', method: 'POST', path: `${TOPIC}/truncate` },
  { operation: 'segmentBrokers', method: 'POST', path: `${SEGMENT}/brokers` },
  { operation: 'splitSegment', method: 'POST', path: `${SEGMENT}/split` },
  { operation: 'mergeSegments', method: 'POST', path: `${TOPIC}/segments/merge` },
  { operation: 'getScaling', method: 'GET', path: `${TOPIC}/scaling` },
  { operation: 'rebalance', method: 'POST', path: '/v1/rebalance' },
  { operation: 'sweep', method: 'POST', path: '/v1/sweep' },
  { operation: 'listBrokers', method: 'GET', path: '/v1/brokers' },
  { operation: 'getLeader', method: 'GET', path: '/v1/leader' },
  { operation: 'drainBroker', method: 'POST', path: '/v1/brokers/:broker/drain' },
];

const PATTERNS = ROUTES.map((route) => ({
  method: route.method,
  pattern: new RegExp(`^${route.path.replaceAll('.', String.raw`\.`).replaceAll(/:[a-z]+/g, '[^/]+')}$`),
}));

/** Methods that a path takes, as in `Allow`; none if there is no such path. */
export function methodsOf(path: string): readonly string[] {
  const methods = PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method as string);
  if (methods.length === 0) return [];
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
}

/**
 * Whether a request target has an empty, `.` or `..` segment, in plain or encoded: parsers of URLs resolve or collapse these,
 * so that the path that is served isn't the one that somebody in front of the server has let through.
 */
export function isOddPath(target: string): boolean {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  if (!path.includes('//') && !path.includes('/.') && !path.includes('%2')) return path.includes('\\');
  return /\/\/|\\|\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path);
}

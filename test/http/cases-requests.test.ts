import { beforeEach, describe, expect, test } from 'vitest';
import { ROUTES } from '../../src/http/paths.ts';
import { REQUEST_BYTES_MAX } from '../../src/model/limits.ts';
import { openLog, one, utf8 } from './log.ts';
import { createTestApp, type TestApp, TOKEN } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const ENVELOPE = utf8('{"messages":[{"key":"a","text":"1"}]}');

describe('A1 token', () => {
  const paths = ['/v1', '/v1/topics', '/v1/topics/a/messages', '/metrics', '/openapi.json', '/', '/nowhere'];
  test.each([
    ['none', {}],
    ['garbage', { authorization: 'Bearer garbage' }],
    ['empty', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
    ['one too long', { authorization: `Bearer ${TOKEN}x` }],
    ['two', { authorization: `Bearer ${TOKEN}, Bearer ${TOKEN}` }],
    ['not ASCII', { authorization: 'Bearer \u00e4' }],
  ])('%s: 401 on every path', async (_, headers) => {
    for (const path of paths) {
      const refused = await t.send('GET', path, { headers, token: null });
      expect([path, refused.status, refused.json.code]).toEqual([path, 401, 'unauthenticated']);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test('not in the query, and in any case of the scheme', async () => {
    for (const query of [`token=${TOKEN}`, `access_token=${TOKEN}`, `authorization=Bearer%20${TOKEN}`]) {
      expect((await t.send('GET', `/v1?${query}`, { token: null })).status).toBe(401);
    }
    expect((await t.send('GET', '/v1', { token: null, headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200);
  });

  test('is needed by everything but livez and readyz', async () => {
    for (const { method, path } of ROUTES) {
      const answer = await t.send(method, path.replaceAll(/:[a-z]+/g, 'a'), { token: null });
      expect([path, answer.status]).toEqual([path, path === '/livez' || path === '/readyz' ? 200 : 401]);
    }
  });

  test('is asked for before anything of the body', async () => {
    const body = new Uint8Array(REQUEST_BYTES_MAX + 1);
    expect((await t.send('POST', '/v1/topics/a/messages', { token: null, body })).status).toBe(401);
  });
});

test('A19: nothing is below /v1/internal, with any token and any method', async () => {
  for (const path of ['/v1/internal/', '/v1/internal/leader', '/v1/internal/rebalance', '/v1/internal/publish/x']) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      for (const token of [null, TOKEN, 'garbage']) {
        const missing = await t.send(method, path, { token });
        expect([method, path, missing.status, missing.json.code]).toEqual([method, path, 404, 'path-not-found']);
      }
    }
  }
});

test('404 and 405: paths that are not there, methods that are not taken', async () => {
  for (const path of ['/', '/v2', '/v1/', '/v1/topics/', '/v1/leader/', '/v1/brokers/a', '/v1/topics/a/messages/1', '/livez/']) {
    const missing = await t.send('GET', path);
    expect([path, missing.status, missing.json.code]).toEqual([path, 404, 'path-not-found']);
  }
  for (const { path } of ROUTES) {
    const target = path.replaceAll(/:[a-z]+/g, 'a');
    // Where one path has a name, another one's parameter takes it, too.
    const isTaken = (route: string): boolean => new RegExp(`^${route.replaceAll(/:[a-z]+/g, '[^/]+')}$`).test(target);
    const methods = ROUTES.filter((route) => isTaken(route.path)).map(({ method }) => method as string);
    const other = ['PATCH', 'POST'].find((method) => !methods.includes(method)) ?? '';
    const refused = await t.send(other, target);
    expect([refused.status, refused.json.code]).toEqual([405, 'method-not-allowed']);
    expect(refused.headers.get('allow')?.split(', ').toSorted()).toEqual(
      [...methods, 'OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : [])].toSorted(),
    );
  }
});

test('A20: OPTIONS says what is allowed, and nothing to other origins', async () => {
  const headers = { origin: 'https://evil.test', 'access-control-request-method': 'POST' };
  const options = await t.send('OPTIONS', '/v1/topics/a/messages', { headers });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, GET, HEAD, OPTIONS']);
  expect((await t.send('OPTIONS', '/v1/topics/a')).headers.get('allow')).toBe('PUT, GET, PATCH, DELETE, HEAD, OPTIONS');
  const log = await openLog(t);
  const answers = [
    options,
    await log.read('', headers),
    await log.publish(one({ key: 'a', text: '' }), headers),
    await t.send('GET', '/v1/topics/zz', { headers }),
  ];
  for (const answer of answers) expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('HEAD answers like GET, without a body', async () => {
  const log = await openLog(t);
  await log.publish(one({ key: 'a', text: '1' }));
  for (const path of [
    '/v1',
    '/livez',
    '/v1/topics',
    `/v1/topics/${log.topic}`,
    `/v1/topics/${log.topic}/segments/${log.segment}/messages?waitMs=25000&offset=1`,
  ]) {
    const [get, head] = [await t.send('GET', path.replace('waitMs=25000', 'waitMs=0')), await t.send('HEAD', path)];
    expect([head.status, head.headers.get('content-type'), head.text]).toEqual([get.status, get.headers.get('content-type'), '']);
  }
  const stream = await t.send('HEAD', `/v1/topics/${log.topic}/messages`, { headers: { accept: 'text/event-stream' } });
  expect([stream.status, stream.headers.get('content-type'), stream.text]).toEqual([200, 'text/event-stream', '']);
});

describe('J-12 content-type-near-miss', () => {
  const verdicts: readonly (readonly [type: string | undefined, status: number])[] = [
    ['application/json; charset=utf-8', 200],
    ['application/json;charset="UTF-8"', 200],
    ['application/json ; profile=x', 200],
    ['APPLICATION/JSON', 200],
    ['application/json;charset=iso-8859-1', 415],
    ['application/json;charset=utf-16', 415],
    ['application/vnd.api+json', 415],
    ['application/jsonx', 415],
    ['text/json', 415],
    ['text/plain', 415],
    ['application/octet-stream', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application', 415],
    ['application/json, application/json', 415],
    ['', 415],
    [undefined, 415],
  ];
  test.each(verdicts)('an envelope as %j: %i, with and without a key', async (type, status) => {
    for (const query of ['', '?key=a']) {
      const log = await openLog(t);
      const answer = await t.send('POST', `/v1/topics/${log.topic}/messages${query}`, {
        body: ENVELOPE,
        headers: type === undefined ? {} : { 'content-type': type },
      });
      expect(answer.status).toBe(status);
      if (status === 200) expect(await log.messages()).toMatchObject([{ key: 'a', text: '1' }]);
      else expect([answer.json.code, await log.tail()]).toEqual(['unsupported-type', 0]);
    }
  });

  test.each(['application/x-ndjson', 'application/ndjson', 'application/jsonl', 'Application/X-NDJSON; charset=utf-8'])(
    '%s is lines',
    async (type) => {
      const log = await openLog(t);
      await log.refuses(log.publish(ENVELOPE, { 'content-type': type }), 400, { line: 1 });
      expect((await log.publish('{"key":"a","text":"1"}\n{"key":"a","text":"2"}', { 'content-type': type })).json.results).toHaveLength(2);
    },
  );

  const accepts: readonly (readonly [accept: string | undefined, type: string | 406])[] = [
    ['*/*', 'application/json'],
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['application/x-ndjson;q=0.2, application/json', 'application/json'],
    ['application/json;q=0, */*', 'application/x-ndjson'],
    ['application/json;q=0.1, application/*;q=0.5', 'application/x-ndjson'],
    ['application/vnd.kelp.batch, */*;q=0.1', 'application/vnd.kelp.batch'],
    ['APPLICATION/JSON', 'application/json'],
    ['application/jsonl', 'application/x-ndjson'],
    ['application/json; charset=utf-8', 'application/json'],
    ['text/html, application/xhtml+xml, */*;q=0.8', 'application/json'],
    ['image/png', 406],
    ['application/json;q=0', 406],
    ['*/*;q=0', 406],
    ['text/plain', 406],
  ];
  test.each(accepts)('a read with Accept %j: %s', async (accept, type) => {
    const log = await openLog(t);
    await log.publish(ENVELOPE);
    const answer = await log.read('', accept === undefined ? {} : { accept });
    if (type === 406) expect([answer.status, answer.json.code, answer.json.field]).toEqual([406, 'not-acceptable', 'Accept']);
    else expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
  });

  test('a GET with a Content-Type is served; a publish is not refused for its Accept', async () => {
    const log = await openLog(t);
    expect((await log.read('', { 'content-type': 'image/png' })).status).toBe(200);
    expect((await log.publish(ENVELOPE, { accept: 'image/png' })).status).toBe(200);
  });
});

test('headers of a publish are taken as they should be or not at all', async () => {
  const log = await openLog(t);
  const producer = { 'kelp-segment': log.segment, 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0', 'kelp-producer-sequence': '0' };
  const bad: readonly (readonly [object, string])[] = [
    [{ 'kelp-timeout-ms': '0' }, 'Kelp-Timeout-Ms'],
    [{ 'kelp-timeout-ms': '60001' }, 'Kelp-Timeout-Ms'],
    [{ 'kelp-timeout-ms': '1.5' }, 'Kelp-Timeout-Ms'],
    [{ 'kelp-segment': 'S0000000' }, 'Kelp-Segment'],
    [{ 'kelp-match-tail': '-1' }, 'Kelp-Match-Tail'],
    [{ 'kelp-match-tail': '9007199254740992' }, 'Kelp-Match-Tail'],
    [{ 'idempotency-key': 'x'.repeat(256) }, 'Idempotency-Key'],
    [{ 'idempotency-key': '\u00e4' }, 'Idempotency-Key'],
    [{ ...producer, 'idempotency-key': 'x' }, 'Idempotency-Key'],
  ];
  for (const [headers, field] of bad) {
    for (const sending of [log.publish(ENVELOPE, { ...headers }), log.publishRaw('1', { query: '?key=a', headers: { ...headers } })]) {
      await log.refuses(sending, 400, { code: 'invalid-header', field });
    }
  }
});

test('GET /v1, /openapi.json and /metrics', async () => {
  const about = (await t.send('GET', '/v1')).json;
  expect(about.limits).toMatchObject({
    requestBytes: REQUEST_BYTES_MAX,
    requestMessages: 10_000,
    messageBytes: 1_048_576,
    keyBytes: 4_096,
  });
  expect(about.formats.read).toContain('text/event-stream');
  expect((await t.send('GET', '/openapi.json')).json.openapi).toMatch(/^3\.1/);
  const metrics = await t.send('GET', '/metrics', { headers: { accept: 'text/plain; version=0.0.4, */*;q=0.1' } });
  expect([metrics.status, metrics.text, metrics.headers.get('content-type')]).toEqual([
    200,
    'kelp_up 1\n',
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
});

test('requests are measured by route, status and error', async () => {
  const log = await openLog(t);
  await log.read('?offset=9');
  const [last] = t.telemetry.records.filter(({ name }) => name === 'http.server.request.duration').slice(-1);
  expect(last?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/v1/topics/:topic/segments/:segment/messages',
    'http.response.status_code': '416',
    'error.type': 'beyond-tail',
  });
  expect(last?.value).toBeGreaterThanOrEqual(0);
});

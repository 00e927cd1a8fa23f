import { beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const KEY = { partitionKey: 'key' };
const NO_COUNTS = ['0', '-1', '1.0', '1e0', '"1"', 'null', 'true', '[1]', '{}', '01'];

describe('PUT /v1/topics/{topic}', () => {
  test('makes a topic, finds it the same, and refuses another one of its name', async () => {
    const made = await t.send('PUT', '/v1/topics/orders', { body: { partitionKey: 'key', segments: 4, replicas: 2 } });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ topic: 'orders', partitionKey: 'key', segments: 4, replicas: 2 });
    const again = await t.send('PUT', '/v1/topics/orders', { body: { segments: 4, partitionKey: 'key' } });
    expect([again.status, again.json]).toEqual([200, made.json]);
    for (const body of [
      { partitionKey: 'key' },
      { partitionKey: { header: 'x' }, segments: 4 },
      { partitionKey: 'key', segments: 4, replicas: 1 },
    ]) {
      const other = await t.send('PUT', '/v1/topics/orders', { body });
      expect([other.status, other.json.code, other.json.retryable]).toEqual([409, 'exists-differently', false]);
    }
    expect((await t.send('GET', '/v1/topics/orders')).json).toEqual(made.json);
  });

  test.each([
    [{ header: 'x' }, 1, 1],
    [{ pointer: '/user/id' }, 64, 2],
    [{ pointer: '' }, 2, 8],
  ])('takes the partition key %j', async (partitionKey, segments, replicas) => {
    const made = await t.send('PUT', '/v1/topics/a', { body: { partitionKey, segments, replicas } });
    expect([made.status, made.json.partitionKey, made.json.segments, made.json.replicas]).toEqual([201, partitionKey, segments, replicas]);
  });

  test.each([
    ['', 'invalid-settings', undefined],
    ['[]', 'invalid-settings', undefined],
    ['{}', 'invalid-settings', 'partitionKey'],
    ['{"partitionKey":"header"}', 'invalid-settings', 'partitionKey'],
    ['{"partitionKey":null}', 'invalid-settings', 'partitionKey'],
    ['{"partitionKey":{}}', 'invalid-settings', 'partitionKey'],
    ['{"partitionKey":{"header":"a","pointer":"/a"}}', 'invalid-settings', 'partitionKey'],
    ['{"partitionKey":{"header":1}}', 'invalid-settings', 'partitionKey.header'],
    ['{"partitionKey":{"header":"kelp-kind"}}', 'invalid-settings', 'partitionKey.header'],
    [`{"partitionKey":{"header":"${'x'.repeat(257)}"}}`, 'invalid-settings', 'partitionKey.header'],
    ['{"partitionKey":{"pointer":"a"}}', 'invalid-pointer', 'partitionKey.pointer'],
    ['{"partitionKey":{"pointer":"/~2"}}', 'invalid-pointer', 'partitionKey.pointer'],
    ['{"partitionKey":{"header":"a","header":"b"}}', 'invalid-json', 'partitionKey.header'],
    ['{"partitionKey":{"name":"a"}}', 'invalid-settings', 'partitionKey.name'],
    ['{"partitionKey":{"na me":"a"}}', 'invalid-settings', 'partitionKey'],
    ['{"partitionKey":"key","partitionKey":"key"}', 'invalid-json', 'partitionKey'],
    ['{"partitionKey":"key","__proto__":{"segments":2}}', 'invalid-settings', '__proto__'],
    ['{"partitionKey":"key","replicas":1,"replicas":1}', 'invalid-json', 'replicas'],
    ['{"partitionKey":"key","brokers":2}', 'invalid-settings', 'brokers'],
    ...['segments":65', 'replicas":9', ...['segments', 'replicas'].flatMap((name) => NO_COUNTS.map((n) => `${name}":${n}`))].map(
      (member) => [`{"partitionKey":"key","${member}}`, 'invalid-settings', member.slice(0, 'segments'.length)] as const,
    ),
    ['{"partitionKey":"key"} x', 'invalid-json', undefined],
    ['{"partitionKey":"\\ud800"}', 'invalid-json', undefined],
  ] as readonly [string, string, string | undefined][])('refuses the body %s', async (body, code, field) => {
    const refused = await t.send('PUT', '/v1/topics/a', { body, headers: { 'content-type': 'application/json' } });
    expect(refused.status).toBe(400);
    expect(refused.json.code).toEqual(code);
    if (field !== undefined) expect(refused.json.field).toBe(field);
    expect((await t.send('GET', '/v1/topics/a')).status).toBe(404);
  });

  test('takes JSON and nothing else', async () => {
    for (const type of ['text/plain', 'application/x-ndjson', 'application/json;charset=latin1', undefined]) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const body = new TextEncoder().encode('{"partitionKey":"key"}');
      const refused = await t.send('PUT', '/v1/topics/a', { body, headers });
      expect([refused.status, refused.json.field]).toEqual([415, 'Content-Type']);
    }
  });
});

test('A12: names that are no names', async () => {
  const names = [
    'A',
    '-a',
    '.a',
    '_a',
    'a%2Fb',
    'a%00',
    'a%0d%0ab',
    'a%20',
    '%D0%B0',
    'a%zz',
    'a:b',
    'x'.repeat(129),
    '%EF%BC%A1',
    'a%5Cb',
    'a|b',
  ];
  for (const name of names) {
    for (const [method, rest] of [
      ['PUT', ''],
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/segments'],
      ['GET', '/scaling'],
      ['GET', '/messages'],
      ['POST', '/message'],
    ] as const) {
      const refused = await t.send(
        method,
        `/v1/topics/${name}${rest}`,
        method === 'PUT' ? { body: KEY } : method === 'PATCH' ? { body: {} } : {},
      );
      expect([name, method, refused.status, refused.json.code]).toEqual([name, method, 400, 'invalid-topic']);
    }
  }
  for (const name of ['a', '0', 'a.b-c_d', 'x'.repeat(128), 'constructor', '__proto__'.replaceAll('_', 'a')]) {
    expect((await t.send('PUT', `/v1/topics/${name}`, { body: KEY })).status).toBe(201);
  }
});

test('A12: empty and dotted segments of a path', async () => {
  for (const path of ['/v1//topics', '/v1/topics//messages', '//v1']) {
    const refused = await t.send('GET', path);
    expect([path, refused.status, refused.json.code]).toEqual([path, 400, 'invalid-path']);
  }
});

test('DELETE answers once, then 404; the name is free at once', async () => {
  const first = await t.send('PUT', '/v1/topics/a', { body: KEY });
  const gone = await t.send('DELETE', '/v1/topics/a');
  expect([gone.status, gone.text]).toEqual([204, '']);
  expect((await t.send('GET', '/v1/topics/a')).json.code).toBe('topic-not-found');
  expect((await t.send('DELETE', '/v1/topics/a')).status).toBe(404);
  const second = await t.send('PUT', '/v1/topics/a', { body: { partitionKey: { header: 'other' } } });
  expect(second.status).toBe(201);
  expect(second.json.id).not.toBe(first.json.id);
});

describe('GET /v1/topics', () => {
  test('J-27 pages: each topic that is there throughout comes once, and `after` may be gone', async () => {
    const names = Array.from({ length: 25 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    for (const name of names) await t.send('PUT', `/v1/topics/${name}`, { body: KEY });
    const found: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await t.send('GET', `/v1/topics?limit=10${after === undefined ? '' : `&after=${after}`}`);
      expect(page.status).toBe(200);
      expect(page.json.topics.length).toBeLessThanOrEqual(10);
      found.push(...page.json.topics.map(({ topic }: { topic: string }) => topic));
      after = page.json.next;
      if (after === undefined) break;
      await t.send('DELETE', `/v1/topics/${after}`);
      await t.send('PUT', '/v1/topics/a-new-one', { body: KEY });
    }
    const gone = ['t09', 't19'];
    expect(found.filter((name) => !gone.includes(name))).toEqual(names.filter((name) => !gone.includes(name)));
  });

  test.each(['limit=0', 'limit=1001', 'limit=1.5', 'limit=', 'limit=1&limit=2', 'after=A', 'after=%ff', 'Limit=1', 'x', 'after'])(
    'refuses ?%s',
    async (query) => {
      const refused = await t.send('GET', `/v1/topics?${query}`);
      expect([refused.status, refused.json.code.startsWith('invalid-'), refused.json.field]).toEqual([400, true, expect.any(String)]);
    },
  );
});

describe('segments', () => {
  test('are equal ranges that tile, and each can be asked for', async () => {
    await t.send('PUT', '/v1/topics/a', { body: { partitionKey: 'key', segments: 3, replicas: 2 } });
    const { segments } = (await t.send('GET', '/v1/topics/a/segments')).json;
    expect(segments.map(({ lo, hi }: { lo: number; hi: number }) => [lo, hi])).toEqual([
      [0, 21845],
      [21846, 43690],
      [43691, 65535],
    ]);
    for (const segment of segments) {
      expect(segment).toEqual({ ...segment, state: 'open', start: 0, tail: 0, predecessors: [], successors: [] });
      expect((await t.send('GET', `/v1/topics/a/segments/${segment.segment}`)).json).toEqual(segment);
    }
  });

  test('that are not there: 404, of a former life 410, no ids: 400', async () => {
    await t.send('PUT', '/v1/topics/a', { body: KEY });
    const { segments } = (await t.send('GET', '/v1/topics/a/segments')).json;
    expect((await t.send('GET', '/v1/topics/a/segments/szzzzzzz')).json.code).toBe('segment-not-found');
    await t.send('DELETE', '/v1/topics/a');
    expect((await t.send('GET', `/v1/topics/a/segments/${segments[0].segment}`)).json.code).toBe('topic-not-found');
    await t.send('PUT', '/v1/topics/a', { body: KEY });
    const former = await t.send('GET', `/v1/topics/a/segments/${segments[0].segment}`);
    expect([former.status, former.json.code]).toEqual([410, 'topic-replaced']);
    for (const id of ['s1', 'S0000000', 's000000%00', 't0000000']) {
      expect((await t.send('GET', `/v1/topics/a/segments/${id}`)).json).toMatchObject({ code: 'invalid-segment', field: 'segment' });
    }
  });
});

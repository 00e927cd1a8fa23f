import { beforeEach, describe, expect, test } from 'vitest';
import { RETENTION_SECONDS_MAX, SCHEMA_BYTES_MAX, TYPED_COLUMNS_MAX } from '../../src/model/archive-limits.ts';
import { createTestApp, type TestApp } from './test-app.ts';

// `retention` and `schema`: at creation, and changed later.

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const PATH = '/v1/topics/a';
const headers = { 'content-type': 'application/json' };
const send = (method: string, body: string) => t.send(method, PATH, { body, headers });
const put = (settings = '') => send('PUT', `{"partitionKey":"key"${settings === '' ? '' : `,${settings}`}}`);
const patch = (settings: string) => send('PATCH', `{${settings}}`);
const get = () => t.send('GET', PATH);
const properties = (members: object): string => JSON.stringify({ properties: members });

describe('retention', () => {
  test('is kept as it is said, and none where nothing is', async () => {
    expect((await put()).json.retention).toEqual({});
    for (const retention of [
      { maxAgeSeconds: 1 },
      { maxBytes: Number.MAX_SAFE_INTEGER },
      { maxAgeSeconds: RETENTION_SECONDS_MAX, maxBytes: 1 },
    ]) {
      await t.send('DELETE', PATH);
      const made = await put(`"retention":${JSON.stringify(retention)}`);
      expect([made.status, made.json.retention]).toEqual([201, retention]);
      expect((await get()).json).toEqual(made.json);
    }
  });

  test('is changed bound by bound, and null takes one away', async () => {
    await put('"retention":{"maxAgeSeconds":60}');
    for (const [said, then] of [
      ['{"maxBytes":5}', { maxAgeSeconds: 60, maxBytes: 5 }],
      ['{}', { maxAgeSeconds: 60, maxBytes: 5 }],
      ['{"maxAgeSeconds":null,"maxBytes":7}', { maxBytes: 7 }],
      ['{"maxAgeSeconds":null}', { maxBytes: 7 }],
      ['{"maxAgeSeconds":9}', { maxAgeSeconds: 9, maxBytes: 7 }],
      ['null', {}],
    ] as const) {
      const changed = await patch(`"retention":${said}`);
      expect([changed.status, changed.json.retention]).toEqual([200, then]);
      expect((await get()).json).toEqual(changed.json);
    }
  });

  test('of a topic that is there counts where it is named', async () => {
    const made = await put('"retention":{"maxAgeSeconds":60}');
    for (const same of ['', '"retention":{}', '"retention":{"maxAgeSeconds":60}', '"retention":{"maxBytes":null}']) {
      const again = await put(same);
      expect([again.status, again.json]).toEqual([200, made.json]);
    }
    for (const other of ['{"maxAgeSeconds":61}', '{"maxAgeSeconds":60,"maxBytes":1}', '{"maxAgeSeconds":null}', 'null']) {
      expect((await put(`"retention":${other}`)).json).toMatchObject({ code: 'exists-differently', retention: { maxAgeSeconds: 60 } });
    }
  });

  const NO_COUNTS = ['0', '-1', '1.5', '1.0', '1e3', '01', '"1"', 'true', '[1]', '{}', '9007199254740992'];
  const wrong: readonly (readonly [retention: string, code: string, field: string])[] = [
    ...['[]', '"x"', '1', 'true'].map((value) => [value, 'invalid-settings', 'retention'] as const),
    ...['maxAgeSeconds', 'maxBytes'].flatMap((name) =>
      NO_COUNTS.map((value) => [`{"${name}":${value}}`, 'invalid-settings', `retention.${name}`] as const),
    ),
    [`{"maxAgeSeconds":${RETENTION_SECONDS_MAX + 1}}`, 'invalid-settings', 'retention.maxAgeSeconds'],
    ['{"maxAge":1}', 'invalid-settings', 'retention.maxAge'],
    ['{"__proto__":1}', 'invalid-settings', 'retention.__proto__'],
    ['{"maxBytes":1,"maxBytes":1}', 'invalid-json', 'retention.maxBytes'],
  ];

  test.each(wrong)('refuses %s', async (retention, code, field) => {
    for (const answer of [await put(`"retention":${retention}`), (await put(), await patch(`"retention":${retention}`))]) {
      expect([answer.status, answer.json.code, answer.json.field]).toEqual([400, code, field]);
    }
    expect((await get()).json.retention).toEqual({});
  });
});

describe('a schema', () => {
  const ALL = `{
    "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "gr\\u00f6\\u00dfe", "type": "object",
    "properties": {"b": {"type": "string"}, "a": {"type": ["null", "integer"], "maximum": 9223372036854775807.0},
      "n": {"type": "number"}, "f": {"type": ["boolean"]}, "o": {"type": "object", "properties": {"kelp_x": {}}},
      "two words": {"type": ["string", "integer"]}, "any": true, "none": false, "kelp_any": {}, "list": {"type": "array"}},
    "required": ["b", "other"], "x": 1e400
  }`;

  test('comes back as it was given, character for character', async () => {
    const made = await put(`"schema": ${ALL} `);
    expect(made.status).toBe(201);
    for (const answer of [made, await get(), await t.send('GET', '/v1/topics'), await patch('"replicas":3')]) {
      expect(answer.text).toContain(`"schema":${ALL}}`);
    }
    await t.send('DELETE', PATH);
    expect((await put()).json).not.toHaveProperty('schema');
  });

  test('that means the same is the same, and another one is not', async () => {
    await put('"schema":{"properties":{"a":{"type":"string"},"b":{"type":"number"}}}');
    for (const same of ['', '"schema":{ "properties" : {"b":{"type":"number"}, "a":{"type":"string"}} }'])
      expect((await put(same)).status).toBe(200);
    for (const other of ['{}', properties({ a: { type: 'string' } }), properties({ a: { type: 'string' }, b: { type: 'integer' } })]) {
      expect((await put(`"schema":${other}`)).json.code).toBe('exists-differently');
    }
    await t.send('DELETE', PATH);
    await put();
    expect((await put('"schema":{}')).json.code).toBe('exists-differently');
  });

  test('takes columns in addition, and another text', async () => {
    await put();
    const texts = [
      '{"title":"one"}',
      properties({ a: { type: 'string' } }),
      properties({ b: { type: 'integer' }, a: { type: ['string', 'null'], title: 'two' } }),
      `{"required":["a"], ${properties({ b: { type: 'integer' }, a: { type: 'string' } }).slice(1)}`,
    ];
    for (const schema of texts) {
      const changed = await patch(`"schema":${schema}`);
      expect([changed.status, changed.text]).toEqual([200, expect.stringContaining(`"schema":${schema}}`)]);
      expect((await get()).text).toBe(changed.text);
    }
  });

  test.each([
    ['{}', 'schema.properties.a'],
    [properties({ A: { type: 'string' } }), 'schema.properties.a'],
    [properties({ a: { type: 'integer' } }), 'schema.properties.a'],
    [properties({ a: {} }), 'schema.properties.a'],
    [properties({ a: { type: 'string' }, A: { type: 'string' } }), 'schema.properties.A'],
    ['null', 'schema'],
  ])('whose columns are there already may not become %s', async (schema, field) => {
    const made = await put(`"schema":${properties({ a: { type: 'string' } })}`);
    const refused = await patch(`"schema":${schema}`);
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([400, 'invalid-schema', field]);
    expect((await get()).text).toBe(made.text);
  });

  const type = (name: string) => ({ [name]: { type: 'string' } });
  const many = (count: number) => properties(Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }])));
  const long = (bytes: number): string => `{"title":"${'x'.repeat(bytes - 12)}"}`;

  const wrong: readonly (readonly [schema: string, code: string, field: string])[] = [
    ...['[]', '"x"', '1', 'true', 'null'].map((schema) => [schema, 'invalid-schema', 'schema'] as const),
    [long(SCHEMA_BYTES_MAX + 1), 'invalid-schema', 'schema'],
    ['{"properties":[]}', 'invalid-schema', 'schema.properties'],
    ['{"properties":{"a":1}}', 'invalid-schema', 'schema.properties.a'],
    ['{"properties":{"a":null}}', 'invalid-schema', 'schema.properties.a'],
    ['{"properties":{"a":{"type":1}}}', 'invalid-schema', 'schema.properties.a.type'],
    ['{"properties":{"größe":{"type":1}}}', 'invalid-schema', 'schema.properties.type'],
    ['{"properties":{"a":{"type":"strng"}}}', 'invalid-schema', 'schema.properties.a.type'],
    ['{"properties":{"a":{"type":["string",1]}}}', 'invalid-schema', 'schema.properties.a.type'],
    ['{"properties":{"a":{},"a":{}}}', 'invalid-json', 'schema.properties.a'],
    ['{"properties":{},"properties":{}}', 'invalid-json', 'schema.properties'],
    ['{"required":"a"}', 'invalid-schema', 'schema.required'],
    ['{"properties":{"a":{"type":{},"type":{}}}}', 'invalid-schema', 'schema.properties.a.type'],
    ['{"required":[1]}', 'invalid-schema', 'schema.required'],
    ...['kelp_offset', 'KELP_offset', 'a-b', '1a', 'a'.repeat(64)].map(
      (name) => [properties(type(name)), 'invalid-schema', `schema.properties.${name}`] as const,
    ),
    ...['', 'größe', 'a b', 'a"b'].map((name) => [properties(type(name)), 'invalid-schema', 'schema.properties'] as const),
    [properties({ ...type('key'), ...type('Key') }), 'invalid-schema', 'schema.properties.Key'],
    [many(TYPED_COLUMNS_MAX + 1), 'invalid-schema', 'schema.properties'],
  ];

  test.each(wrong)('refuses %.60s', async (schema, code, field) => {
    const refused = await put(`"schema":${schema}`);
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([400, code, field]);
    expect((await get()).status).toBe(404);
  });

  test('may be as long as it may, with as many columns', async () => {
    expect((await put(`"schema":${long(SCHEMA_BYTES_MAX)}`)).status).toBe(201);
    expect((await patch(`"schema":${many(TYPED_COLUMNS_MAX)}`)).status).toBe(200);
  });
});

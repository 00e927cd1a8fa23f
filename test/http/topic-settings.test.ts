import { beforeEach, describe, expect, test } from 'vitest';
import { SCALING_DEFAULT } from '../../src/model/scaling.ts';
import { FLOODS_MAX } from '../../src/model/scaling-limits.ts';
import { createTestApp, type TestApp } from './test-app.ts';

// `scaling` and `replicas`: at creation, and changed later.

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const PATH = '/v1/topics/a';
const FLOOD = { cron: '30 8 * * MON-FRI', durationSeconds: 3_600, minSegments: 32, timeZone: 'Europe/Berlin' };
const ALL = {
  minSegments: 2,
  maxSegments: 64,
  targetBytesPerSecond: 1_000_000,
  targetMessagesPerSecond: 500,
  targetCommitsPerSecond: Number.MAX_SAFE_INTEGER,
  schedule: [FLOOD, { cron: '0 0 1 1 *', durationSeconds: 604_800, minSegments: 1 }],
};

const put = (settings: object = {}) => t.send('PUT', PATH, { body: { partitionKey: 'key', ...settings } });
const patch = (body: object) => t.send('PATCH', PATH, { body });
const get = async () => (await t.send('GET', PATH)).json;

describe('PUT', () => {
  test('keeps what is said about scaling, with defaults for the rest', async () => {
    const made = await put({ scaling: ALL });
    expect([made.status, made.json.scaling]).toEqual([201, ALL]);
    expect(await get()).toEqual(made.json);
    await t.send('DELETE', PATH);
    expect((await put({ scaling: { maxSegments: 8 } })).json.scaling).toEqual({ ...SCALING_DEFAULT, maxSegments: 8 });
    await t.send('DELETE', PATH);
    for (const settings of [{}, { scaling: {} }]) expect((await put(settings)).json.scaling).toEqual(SCALING_DEFAULT);
  });

  test('again finds the topic made, whatever became of what it does not say', async () => {
    const first = { segments: 2, scaling: { minSegments: 2, schedule: [FLOOD] } };
    await put(first);
    const changed = await patch({ replicas: 5, scaling: { maxSegments: 99 } });
    for (const settings of [
      first,
      { segments: 2 },
      { segments: 2, replicas: 5 },
      { segments: 2, scaling: {} },
      { segments: 2, scaling: { maxSegments: 99 } },
    ]) {
      const again = await put(settings);
      expect([again.status, again.json]).toEqual([200, changed.json]);
    }
  });

  test.each([
    { minSegments: 1 },
    { maxSegments: 3 },
    { targetBytesPerSecond: 1 },
    { targetMessagesPerSecond: 1 },
    { targetCommitsPerSecond: 1 },
    { schedule: [] },
    { schedule: [FLOOD, FLOOD] },
    { schedule: [{ ...FLOOD, cron: '31 8 * * MON-FRI' }] },
    { schedule: [{ ...FLOOD, durationSeconds: 1 }] },
    { schedule: [{ ...FLOOD, minSegments: 1 }] },
    { schedule: [{ ...FLOOD, timeZone: 'UTC' }] },
  ])('that says something else, %j, is refused, and changes nothing', async (scaling) => {
    const made = await put({ scaling: { minSegments: 2, schedule: [FLOOD] } });
    const other = await put({ scaling: { minSegments: 2, ...scaling } });
    expect([other.status, other.json.code]).toEqual([409, 'exists-differently']);
    expect(other.json).toMatchObject({ segments: 1, replicas: 2, scaling: made.json.scaling });
    expect(await get()).toEqual(made.json);
  });
});

describe('PATCH', () => {
  test('changes what is named; the rest stays, a schedule is replaced as a whole', async () => {
    const made = (await put({ segments: 4 })).json;
    let expected = made;
    const check = async (body: object, change: object) => {
      const answer = await patch(body);
      expected = { ...expected, ...change };
      expect([answer.status, answer.json]).toEqual([200, expected]);
      expect(await get()).toEqual(expected);
    };
    await check({ scaling: { maxSegments: 7 } }, { scaling: { ...SCALING_DEFAULT, maxSegments: 7 } });
    await check({ scaling: ALL, replicas: 8 }, { replicas: 8, scaling: ALL });
    await check({ scaling: { schedule: [FLOOD] } }, { scaling: { ...ALL, schedule: [FLOOD] } });
    await check({ scaling: { minSegments: 64 } }, { scaling: { ...ALL, minSegments: 64, schedule: [FLOOD] } });
    await check({ scaling: { schedule: [] } }, { scaling: { ...ALL, minSegments: 64, schedule: [] } });
    for (const body of [{}, { scaling: {} }, { replicas: 8 }, { scaling: { minSegments: 64 } }]) await check(body, {});
    expect((await t.send('GET', '/v1/topics')).json.topics).toEqual([expected]);
  });

  test('of a topic that is not there, or no more, is 404', async () => {
    expect(await patch({ replicas: 3 })).toMatchObject({ status: 404, json: { code: 'topic-not-found' } });
    await put();
    await t.send('DELETE', PATH);
    expect(await patch({ replicas: 3 })).toMatchObject({ status: 404, json: { code: 'topic-not-found' } });
    // What is wrong anyway is said first.
    expect(await patch({ replicas: 9 })).toMatchObject({ status: 400, json: { field: 'replicas' } });
  });

  test('refuses limits that do not go with those that stay', async () => {
    await put({ scaling: { minSegments: 4, maxSegments: 8 } });
    const before = await get();
    for (const [scaling, field] of [
      [{ minSegments: 9 }, 'scaling.minSegments'],
      [{ maxSegments: 3 }, 'scaling.maxSegments'],
      [{ minSegments: 10, maxSegments: 9 }, 'scaling.minSegments'],
    ] as const) {
      const refused = await patch({ scaling });
      expect([refused.status, refused.json.code, refused.json.field]).toEqual([400, 'invalid-settings', field]);
    }
    expect(await get()).toEqual(before);
    expect((await patch({ scaling: { minSegments: 9, maxSegments: 9 } })).status).toBe(200);
  });

  test.each(['partitionKey', 'segments', 'createdMs', 'topic', 'id', 'state', '__proto__'])('does not take %s', async (member) => {
    await put();
    const refused = await t.send('PATCH', PATH, { body: `{"${member}":1}`, headers: { 'content-type': 'application/json' } });
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([400, 'invalid-settings', member]);
  });

  test('takes JSON and nothing else, and no more than a request may have', async () => {
    await put();
    for (const type of ['application/merge-patch+json', 'text/plain', undefined]) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const refused = await t.send('PATCH', PATH, { body: new TextEncoder().encode('{"replicas":3}'), headers });
      expect([refused.status, refused.json.field]).toEqual([415, 'Content-Type']);
    }
    expect((await patch({ replicas: 'x'.repeat(t.deps.limits.requestBytesMax) })).status).toBe(413);
    expect((await get()).replicas).toBe(2);
  });
});

const NUMBERS = ['minSegments', 'maxSegments', 'targetBytesPerSecond', 'targetMessagesPerSecond', 'targetCommitsPerSecond'];
const NO_COUNTS = ['0', '-1', '1.5', '1.0', '1e3', '01', '"1"', 'null', 'true', '[1]', '{}', '9007199254740992'];
const flood = (change: object): string => JSON.stringify({ schedule: [{ ...FLOOD, ...change }] });
const floods = (count: number): string => JSON.stringify({ schedule: Array.from({ length: count }, () => FLOOD) });

/** What is wrong with a `scaling`, and the field that is named. */
const WRONG: readonly (readonly [scaling: string, code: string, field: string])[] = [
  ...['null', '[]', '"x"', '1', 'true'].map((scaling) => [scaling, 'invalid-settings', 'scaling'] as const),
  ...NUMBERS.flatMap((name) => NO_COUNTS.map((n) => [`{"${name}":${n}}`, 'invalid-settings', `scaling.${name}`] as const)),
  ['{"minSegments":1025}', 'invalid-settings', 'scaling.minSegments'],
  ['{"maxSegments":1025}', 'invalid-settings', 'scaling.maxSegments'],
  ['{"minSegments":3,"maxSegments":2}', 'invalid-settings', 'scaling.minSegments'],
  ['{"maxSegment":2}', 'invalid-settings', 'scaling.maxSegment'],
  ['{"__proto__":{}}', 'invalid-settings', 'scaling.__proto__'],
  ['{"toString":1}', 'invalid-settings', 'scaling.toString'],
  ['{"max Segments":2}', 'invalid-settings', 'scaling'],
  ['{"minSegments":2,"minSegments":2}', 'invalid-json', 'scaling.minSegments'],
  ...['null', '{}', '"* * * * *"', '1'].map((value) => [`{"schedule":${value}}`, 'invalid-schedule', 'scaling.schedule'] as const),
  [floods(FLOODS_MAX + 1), 'invalid-schedule', 'scaling.schedule'],
  // The one too many is not looked at any more.
  [floods(FLOODS_MAX).replace(']', ',{}]'), 'invalid-schedule', 'scaling.schedule'],
  ...['null', '[]', '"* * * * *"', '1'].map((value) => [`{"schedule":[${value}]}`, 'invalid-schedule', 'scaling.schedule[0]'] as const),
  [`{"schedule":[${JSON.stringify(FLOOD)},{}]}`, 'invalid-schedule', 'scaling.schedule[1].cron'],
  [`{"schedule":[${JSON.stringify(FLOOD)},${JSON.stringify({ ...FLOOD, cron: '?' })}]}`, 'invalid-schedule', 'scaling.schedule[1].cron'],
  ...['durationSeconds', 'minSegments'].map(
    (name) => [flood({ [name]: undefined }), 'invalid-schedule', `scaling.schedule[0].${name}`] as const,
  ),
  [flood({ every: 'day' }), 'invalid-schedule', 'scaling.schedule[0].every'],
  ['{"schedule":[{"cron":"* * * * *","cron":"* * * * *"}]}', 'invalid-json', 'scaling.schedule[0].cron'],
  ...[
    '',
    '* * * *',
    '* * * * * *',
    '? 8 * * *',
    '@daily',
    '2030-01-01T00:00:00',
    '60 * * * *',
    '0 0 31 2 *',
    '* * * *  *',
    7,
    null,
    'x'.repeat(129),
  ].map((cron) => [flood({ cron }), 'invalid-schedule', 'scaling.schedule[0].cron'] as const),
  ...['Mars/Phobos', '', 'Europe/Berlin ', 1, null, 'x'.repeat(129)].map(
    (timeZone) => [flood({ timeZone }), 'invalid-schedule', 'scaling.schedule[0].timeZone'] as const,
  ),
  ...[0, -1, 1.5, 604_801, '1', null].map(
    (durationSeconds) => [flood({ durationSeconds }), 'invalid-schedule', 'scaling.schedule[0].durationSeconds'] as const,
  ),
  ...[0, -1, 1.5, 1_025, '1', null].map(
    (minSegments) => [flood({ minSegments }), 'invalid-schedule', 'scaling.schedule[0].minSegments'] as const,
  ),
];

test.each(WRONG)('refuses the scaling %s', async (scaling, code, field) => {
  const headers = { 'content-type': 'application/json' };
  const made = await t.send('PUT', PATH, { body: `{"partitionKey":"key","scaling":${scaling}}`, headers });
  expect([made.status, made.json.code, made.json.field]).toEqual([400, code, field]);
  expect((await t.send('GET', PATH)).status).toBe(404);
  await put();
  const changed = await t.send('PATCH', PATH, { body: `{"scaling":${scaling}}`, headers });
  expect([changed.status, changed.json.code, changed.json.field]).toEqual([400, code, field]);
  expect((await get()).scaling).toEqual(SCALING_DEFAULT);
});

test.each(['', '[]', 'null', '"a"', '{"replicas":3} x', '{"replicas":3,"replicas":3}', '{"replicas":03}', '{"scaling":{},"scaling":{}}'])(
  'PATCH refuses the body %s',
  async (body) => {
    await put();
    const refused = await t.send('PATCH', PATH, { body, headers: { 'content-type': 'application/json' } });
    expect([refused.status, refused.json.code]).toEqual([400, expect.stringMatching(/^invalid-(json|settings)$/)]);
    expect((await get()).replicas).toBe(2);
  },
);

test('as many floods as there may be, of the longest kind, are kept and shown', async () => {
  const cron = `${Array.from({ length: 24 }, (_, n) => String(n + 10)).join(',')} 0,1,2,3,4,5,6,7,8,9,10,11,12 * * *`;
  const schedule = Array.from({ length: FLOODS_MAX }, (_, n) => ({ ...FLOOD, cron, durationSeconds: n + 1 }));
  expect((await put({ scaling: { schedule } })).status).toBe(201);
  expect((await get()).scaling.schedule).toEqual(schedule);
  // The problem names them as far as one may be long.
  expect((await put({ scaling: { schedule: [] } })).json.code).toBe('exists-differently');
});

import { beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import type { HttpDependencies } from '../../src/http/dependencies.ts';
import type { BrokerAddress } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import { type BrokerId, type SegmentId, segmentId } from '../../src/model/ids.ts';
import { HINTED_BYTES_MAX, PARTITIONS } from '../../src/model/limits.ts';
import { createHeads } from '../../src/state/heads.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

// What a publish's answer says of brokers, and that nothing else does.

const TEST_MS = 10_000;
const broker = (id: string, url = `http://${id}:7333`): BrokerAddress => ({ id: id as BrokerId, url });

let serving: Map<string, readonly BrokerAddress[]>;
let known: readonly BrokerAddress[];
let t: TestApp;
let log: Log;

/** Knows of brokers what `serving` and `known` say; records carry more than an address. */
const hints = (): Partial<HttpDependencies> => ({
  brokersOf: (_, segment) => serving.get(segment) ?? [],
  addressOf: (id) => known.find((address) => address.id === id),
});

beforeEach(async () => {
  serving = new Map([['s0000000', [broker('a'), broker('b')]]]);
  known = [broker('a'), { ...broker('b'), instance: 'secret' } as BrokerAddress];
  t = createTestApp({ change: hints });
  log = await openLog(t);
});

const HINT = 's0000000 http://a:7333 http://b:7333';
const LINE = { 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0' };
const addressed = (sequence: number): Record<string, string> => ({
  ...LINE,
  'kelp-segment': 's0000000',
  'kelp-producer-sequence': String(sequence),
});

/** Segment s0000000 gives way to two, which these brokers serve from the start. */
async function move(...brokers: readonly (readonly string[] | undefined)[]): Promise<void> {
  const signal = AbortSignal.timeout(TEST_MS);
  const deps = { table: t.table, heads: createHeads(t.table), clock: createSystemClock(), random: createSystemRandom() };
  const topic = await t.broker.topics.resolve(log.topic, { fresh: true }, signal);
  const width = PARTITIONS / brokers.length;
  const children = brokers.map((ids, n) => ({
    segment: segmentId(topic.nextSegment + n),
    lo: n * width,
    hi: (n + 1) * width - 1,
    ...(ids === undefined ? {} : { brokers: ids as readonly BrokerId[] }),
  }));
  const change = { id: 'c000000000000000', kind: 'failover' as const, parents: ['s0000000' as SegmentId], children };
  const intended = await intend(deps, topic, [change], signal);
  if (intended === undefined) throw new Error('the topic was changed by somebody else');
  await applyChanges(deps, intended, [change], signal);
}

describe('Kelp-Brokers', () => {
  test('names the brokers of what was stored, on both routes', async () => {
    expect((await log.publish(one({ key: 'k', text: 'x' }))).headers.get('kelp-brokers')).toBe(HINT);
    const single = await log.publishRaw('x', { query: '?key=k' });
    expect([single.status, single.headers.get('kelp-brokers'), single.headers.get('cache-control')]).toEqual([200, HINT, 'no-store']);
  });

  test('is left out where this instance knows nothing', async () => {
    serving.clear();
    const plain = createTestApp({ table: t.table, store: t.store });
    for (const app of [t, plain]) {
      const path = `/v1/topics/${log.topic}`;
      for (const sent of [
        await app.send('POST', `${path}/messages`, { body: one({ key: 'k', text: 'x' }) }),
        await app.send('POST', `${path}/message?key=k`, { body: 'x' }),
      ]) {
        expect([sent.status, sent.headers.has('kelp-brokers')]).toEqual([200, false]);
      }
    }
  });

  test('has each segment once, in order of the results', async () => {
    log = await openLog(t, { segments: 2 });
    serving.set('s0000001', [broker('c')]);
    const many = await log.publish({ messages: ['k0', 'k1', 'k0', 'k1', 'k2'].map((key) => ({ key, text: 'x' })) });
    const order = [...new Set<string>(many.json.results.map(({ segment }: { segment: string }) => segment))];
    expect(order).toHaveLength(2);
    expect(
      many.headers
        .get('kelp-brokers')
        ?.split(', ')
        .map((hint) => hint.split(' ')[0]),
    ).toEqual(order);
    serving.delete('s0000000');
    expect((await log.publish({ messages: ['k0', 'k1'].map((key) => ({ key, text: 'x' })) })).headers.get('kelp-brokers')).toBe(
      's0000001 http://c:7333',
    );
  });

  test('has at most eight segments, of those that are known', async () => {
    log = await openLog(t, { segments: 16 });
    const messages = Array.from({ length: 200 }, (_, n) => ({ key: `k${n}`, text: 'x' }));
    serving = new Map(Array.from({ length: 16 }, (_, n) => [segmentId(n), [broker(`b${n}`)]]));
    expect((await log.publish({ messages })).headers.get('kelp-brokers')?.split(', ')).toHaveLength(8);
    serving = new Map(Array.from({ length: 3 }, (_, n) => [segmentId(15 - n), [broker(`b${n}`)]]));
    expect((await log.publish({ messages })).headers.get('kelp-brokers')?.split(', ')).toHaveLength(3);
  });

  test('has at most 2 KiB: who does not fit is left out', async () => {
    log = await openLog(t, { segments: 4 });
    const url = (n: number): string => `http://${String(n).repeat(100)}`;
    serving = new Map(Array.from({ length: 4 }, (_, n) => [segmentId(n), Array.from({ length: 8 }, () => broker('a', url(n)))]));
    const messages = Array.from({ length: 50 }, (_, n) => ({ key: `k${n}`, text: 'x' }));
    const hint = (await log.publish({ messages })).headers.get('kelp-brokers') ?? '';
    expect(hint.split(', ')).toHaveLength(2);
    expect(hint.length).toBeLessThanOrEqual(HINTED_BYTES_MAX);
  });

  test('leaves out what no header can hold, and the publish is a success still', async () => {
    serving.set(
      's0000000',
      ['http://\u00e4', 'http://a, s0000009 http://evil', 'x\r\ny: z', ''].map((url) => broker('a', url)),
    );
    const sent = await log.publish(one({ key: 'k', text: 'x' }));
    expect([sent.status, sent.headers.has('kelp-brokers')]).toEqual([200, false]);
    serving.set('s0000000', [broker('a', 'http://\u00e4'), broker('b')]);
    expect((await log.publish(one({ key: 'k', text: 'x' }))).headers.get('kelp-brokers')).toBe('s0000000 http://b:7333');
  });
});

describe('of a problem', () => {
  test('with Kelp-Segment: that segment’s', async () => {
    const gap = await log.publish(one({ key: 'k', text: 'x' }), addressed(5));
    expect([gap.json.code, gap.headers.get('kelp-brokers')]).toEqual(['sequence-gap', HINT]);
    const tail = await log.publishRaw('x', { query: '?key=k', headers: { 'kelp-segment': 's0000000', 'kelp-match-tail': '7' } });
    expect([tail.json.code, tail.headers.get('kelp-brokers')]).toEqual(['tail-mismatch', HINT]);
  });

  test('of which no segment is known: none', async () => {
    const missing = await t.send('POST', '/v1/topics/zz/messages', {
      body: one({ key: 'k', text: 'x' }),
      headers: { 'kelp-segment': 's0000000' },
    });
    expect([missing.json.code, missing.headers.has('kelp-brokers')]).toEqual(['topic-not-found', false]);
    const invalid = await log.publish('{', {});
    expect([invalid.status, invalid.headers.has('kelp-brokers')]).toEqual([400, false]);
  });

  test('segment-sealed: the successors, in the header and in the problem', async () => {
    await move(['b', 'a'], ['zz']);
    const sealed = await log.publish(one({ key: 'k', text: 'x' }), addressed(0));
    expect([sealed.json.code, sealed.headers.get('kelp-brokers')]).toEqual(['segment-sealed', 's0000001 http://b:7333 http://a:7333']);
    expect(sealed.json.successors).toEqual([
      { segment: 's0000001', lo: 0, hi: 32_767, brokers: [broker('b'), broker('a')] },
      { segment: 's0000002', lo: 32_768, hi: 65_535, brokers: [] },
    ]);
    const raw = await log.publishRaw('x', { query: '?key=k', headers: { 'kelp-segment': 's0000000', 'kelp-match-tail': '0' } });
    expect([raw.json.successors, raw.headers.get('kelp-brokers')]).toEqual([sealed.json.successors, sealed.headers.get('kelp-brokers')]);
  });

  test('segment-sealed under an Idempotency-Key is as complete', async () => {
    await move(['a']);
    const headers = { 'kelp-segment': 's0000000', 'kelp-match-tail': '0', 'idempotency-key': 'i' };
    const sealed = await log.publish(one({ key: 'k', text: 'x' }), headers);
    expect([sealed.status, sealed.json.successors]).toEqual([409, [{ segment: 's0000001', lo: 0, hi: 65_535, brokers: [broker('a')] }]]);
  });

  test('brokers that make a problem too large give way to the successors', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `b${n}`);
    known = ids.map((id) => broker(id, `http://${id}.${'x'.repeat(200)}`));
    await move(ids, ids);
    const sealed = await log.publish(one({ key: 'k', text: 'x' }), addressed(0));
    expect(sealed.json.successors.map(({ segment, brokers }: Record<string, unknown>) => [segment, brokers])).toEqual([
      ['s0000001', []],
      ['s0000002', []],
    ]);
  });
});

test('207 names the brokers of both halves', async () => {
  const sealed = new KelpError('conflict', 'segment-sealed', 'sealed', {
    extra: { segment: 's0000000', successors: [{ segment: 's0000001', lo: 0, hi: 65_535, brokers: ['b', 'zz'] }] },
  });
  const placed = { segment: 's0000009' as SegmentId, offset: 3, duplicate: false };
  serving.set('s0000009', [broker('c')]);
  const half = createTestApp({
    table: t.table,
    store: t.store,
    change: ({ publisher }) => ({ ...hints(), publisher: { ...publisher, publish: () => Promise.resolve([sealed, placed, sealed]) } }),
  });
  const messages = ['k0', 'k1', 'k2'].map((key) => ({ key, text: 'x' }));
  const { status, json, headers } = await half.send('POST', `/v1/topics/${log.topic}/messages`, { body: { messages } });
  const successors = [{ segment: 's0000001', lo: 0, hi: 65_535, brokers: [broker('b')] }];
  expect([status, json.results[0].successors, json.results[1], json.results[2]]).toEqual([
    207,
    successors,
    { segment: 's0000009', offset: 3 },
    json.results[0],
  ]);
  expect(headers.get('kelp-brokers')).toBe('s0000001 http://b:7333, s0000009 http://c:7333');
});

test('no other answer tells who serves a segment', async () => {
  await log.publish(one({ key: 'k', text: 'x' }));
  await move(['a'], ['b']);
  await log.publish(one({ key: 'k', text: 'y' }));
  const path = `/v1/topics/${log.topic}`;
  const segments = ['s0000000', 's0000001', 's0000002'].flatMap((id) => [`${path}/segments/${id}`, `${path}/segments/${id}/messages`]);
  const types = ['application/json', 'application/x-ndjson', 'application/vnd.kelp.batch', 'text/event-stream'];
  let answers = 0;
  for (const target of [path, '/v1/topics', `${path}/segments`, `${path}/messages`, ...segments]) {
    for (const accept of target.endsWith('/messages') ? types : types.slice(0, 1)) {
      if (accept === 'text/event-stream' && !target.includes('s0000000')) continue; // it has no end
      const got = await t.send('GET', target, { headers: { accept } });
      const said = JSON.stringify([got.text, [...got.headers]]);
      expect([target, accept, got.status, /brokers|http:|"[ab]"/.test(said)]).toEqual([target, accept, 200, false]);
      answers += 1;
    }
  }
  expect(answers).toBe(19);
});

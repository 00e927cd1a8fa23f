import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { bodyHashOf, createPeerSignatures } from '../../src/adapters/peers/signature.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { decodeProblem } from '../../src/format/peer-problem.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { BODIES_BYTES_MAX, PEER_REQUEST_BYTES_MAX, SIGNATURE_SKEW_MS_MAX } from '../../src/model/limits.ts';
import type { PeerOperation } from '../../src/ports/peers.ts';
import { createTestApp, requestOf, type Sending, type TestApp, TOKEN } from './test-app.ts';

// A19: internal routes called from outside. Nothing tells them from paths that aren't there.

const SECRET = 'secret-of-the-brokers';
const OLD_SECRET = 'the-secret-before-it';
const SELF = 'broker-1' as BrokerId;
const PATH = '/v1/internal/echo';
const clock = createSystemClock();

type Signed = {
  readonly method?: string;
  readonly path?: string;
  readonly broker?: string;
  readonly body?: string;
  readonly timeMs?: number;
  readonly secret?: string;
};

function signature({
  method = 'POST',
  path = PATH,
  broker = SELF,
  body = 'hello',
  timeMs = Date.now(),
  secret = SECRET,
}: Signed = {}): string {
  return createPeerSignatures(secret, clock).sign({ method, path, broker, bodyHash: bodyHashOf([Buffer.from(body)]), timeMs });
}

const headersOf = (signed: Signed = {}): Record<string, string> => ({
  'kelp-broker': signed.broker ?? SELF,
  'kelp-signature': signature(signed),
});

function open(operations: Readonly<Record<string, PeerOperation>> = {}, secrets: readonly string[] = [SECRET, OLD_SECRET]) {
  const calls: string[] = [];
  const echo: PeerOperation = async (body) => {
    calls.push(Buffer.from(body).toString());
    return body;
  };
  const t = createTestApp({
    change: () =>
      secrets.length === 0
        ? {}
        : { internal: { self: SELF, operations: { echo, ...operations }, verify: createPeerSignatures(secrets, clock).verify } },
  });
  /** As another broker does; no document has its answers. */
  const ask = async (sending: Sending = {}, path = PATH) => {
    const response = await t.app.fetch(requestOf('POST', path, { token: null, body: 'hello', headers: headersOf(), ...sending }));
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, bytes, text: Buffer.from(bytes).toString() };
  };
  return { t, ask, calls };
}

/** The same in all but its own length and names. */
async function likeUnknown(t: TestApp, path: string, { method, sending }: { method: string; sending: Sending }): Promise<void> {
  for (const token of [null, TOKEN, 'wrong-token-0123456789']) {
    const answer = await t.send(method, path, { ...sending, token });
    const unknown = await t.send(method, '/v1/internal/nothing', { ...sending, token });
    expect(answer.status, `${method} ${path}`).toBe(404);
    expect([answer.status, [...answer.headers], answer.text]).toEqual([unknown.status, [...unknown.headers], unknown.text]);
  }
}

describe('a signed request', () => {
  test('is answered without a token, by the broker that it names', async () => {
    const { ask, calls } = open();
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([200, 'hello']);
    expect(answer.headers.get('kelp-broker')).toBe(SELF);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(calls).toEqual(['hello']);
  });

  test('may be signed by either secret', async () => {
    const { ask } = open();
    expect((await ask({ headers: headersOf({ secret: OLD_SECRET }) })).status).toBe(200);
  });

  test('may be minutes old, or early', async () => {
    const { ask } = open();
    for (const ms of [SIGNATURE_SKEW_MS_MAX - 5_000, 5_000 - SIGNATURE_SKEW_MS_MAX]) {
      expect((await ask({ headers: headersOf({ timeMs: Date.now() + ms }) })).status).toBe(200);
    }
  });

  test('for another broker is told that it lives elsewhere: 421', async () => {
    const { ask, calls } = open();
    const answer = await ask({ headers: headersOf({ broker: 'broker-2' }) });
    expect(answer.status).toBe(421);
    expect(answer.headers.get('kelp-broker')).toBe(SELF);
    expect(decodeProblem(answer.status, answer.bytes)).toMatchObject({ kind: 'unavailable', code: 'another-broker' });
    expect(calls).toEqual([]);
  });

  test('that fails brings the error with its kind and code', async () => {
    const fail = (): never => {
      throw new KelpError('unavailable', 'not-leader', 'no', { retryAfterMs: 7 });
    };
    const { ask } = open({ fail });
    const answer = await ask({ headers: headersOf({ path: '/v1/internal/fail' }) }, '/v1/internal/fail');
    expect([answer.status, answer.headers.get('kelp-broker')]).toEqual([503, SELF]);
    expect(decodeProblem(answer.status, answer.bytes)).toMatchObject({ code: 'not-leader', retryAfterMs: 7 });
  });

  test('meets a fault: says nothing of it, and leaves a line', async () => {
    const { t, ask } = open({
      fail: () => {
        throw new TypeError('secret-insides');
      },
    });
    const answer = await ask({ headers: headersOf({ path: '/v1/internal/fail' }) }, '/v1/internal/fail');
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('secret-insides');
    expect(t.telemetry.logs.map(({ message }) => message)).toContain('a request of another broker failed');
  });

  test('ends with its deadline, and says so', async () => {
    const wait: PeerOperation = (_, signal) =>
      new Promise((__, reject) => void signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const { ask } = open({ wait });
    const path = '/v1/internal/wait';
    const answer = await ask({ headers: { ...headersOf({ path }), 'kelp-timeout-ms': '20' } }, path);
    expect([answer.status, decodeProblem(answer.status, answer.bytes).code]).toEqual([408, 'timeout']);
  });

  test('has a bound on its body, and on all bodies together', async () => {
    const { ask, calls } = open();
    const large = 'x'.repeat(PEER_REQUEST_BYTES_MAX + 1);
    const answer = await ask({ body: large, headers: headersOf({ body: large }) });
    expect([answer.status, decodeProblem(answer.status, answer.bytes).code]).toEqual([413, 'too-large']);
    expect(calls).toEqual([]);

    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const path = '/v1/internal/hold';
    const { ask: askHeld } = open({ hold: async (body) => (await held, body) });
    const bulk = 'x'.repeat(PEER_REQUEST_BYTES_MAX);
    const many = Math.ceil(BODIES_BYTES_MAX / PEER_REQUEST_BYTES_MAX);
    const asked = Array.from({ length: many }, () => askHeld({ body: bulk, headers: headersOf({ path, body: bulk }) }, path));
    const first = await Promise.race(asked);
    expect([first.status, decodeProblem(first.status, first.bytes).kind]).toEqual([503, 'unavailable']);
    release();
    expect((await Promise.all(asked)).map(({ status }) => status).filter((status) => status === 200)).toHaveLength(many - 1);
  });
});

describe('A19: without a right signature there is no such path, and nothing happens', () => {
  const other = Buffer.from('x'.repeat(64)).toString('hex').slice(0, 64);
  const wrong: readonly (readonly [string, () => Record<string, string>])[] = [
    ['no signature', () => ({ 'kelp-broker': SELF })],
    ['no broker', () => ({ 'kelp-signature': signature() })],
    ['garbage', () => ({ 'kelp-broker': SELF, 'kelp-signature': 'garbage' })],
    ['an empty one', () => ({ 'kelp-broker': SELF, 'kelp-signature': '' })],
    ['another tag', () => ({ 'kelp-broker': SELF, 'kelp-signature': signature().replace(/s=.*/, `s=${other}`) })],
    ['another secret', () => headersOf({ secret: 'a-guess-of-the-secret' })],
    ['an old time', () => headersOf({ timeMs: Date.now() - SIGNATURE_SKEW_MS_MAX - 2_000 })],
    ['a time to come', () => headersOf({ timeMs: Date.now() + SIGNATURE_SKEW_MS_MAX + 2_000 })],
    [
      'a time put in place',
      () => ({ 'kelp-broker': SELF, 'kelp-signature': signature({ timeMs: Date.now() - 1_000_000 }).replace(/t=\d+/, `t=${Date.now()}`) }),
    ],
    ['one of another path', () => headersOf({ path: '/v1/internal/publish' })],
    ['one of another method', () => headersOf({ method: 'PUT' })],
    ['one for another broker, sent to this one', () => ({ ...headersOf({ broker: 'broker-2' }), 'kelp-broker': SELF })],
    ['one of another body', () => headersOf({ body: 'another' })],
    [
      'the body’s own hash put in place',
      () => ({ 'kelp-broker': SELF, 'kelp-signature': signature({ body: 'another' }).replace(/h=\w+/, `h=${hash('sha256', 'hello')}`) }),
    ],
  ];
  test.for(wrong)('%s', async ([, headersNow]) => {
    const { t, calls } = open();
    const headers = headersNow();
    await likeUnknown(t, PATH, { method: 'POST', sending: { body: 'hello', headers } });
    expect(calls).toEqual([]);
  });

  test('an operation that isn’t there, another method, a longer path, a query: signed or not', async () => {
    const { t, calls } = open();
    for (const path of [
      '/v1/internal/unknown',
      '/v1/internal/',
      '/v1/internal/echo/more',
      '/v1/internal/toString',
      '/v1/internal/__proto__',
    ]) {
      await likeUnknown(t, path, { method: 'POST', sending: { body: 'hello', headers: headersOf({ path }) } });
    }
    await likeUnknown(t, `${PATH}?a=b`, { method: 'POST', sending: { body: 'hello', headers: headersOf() } });
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
      await likeUnknown(t, PATH, { method, sending: { headers: headersOf({ method, body: '' }) } });
      await likeUnknown(t, PATH, { method, sending: { headers: headersOf({ body: '' }) } });
    }
    expect(calls).toEqual([]);
  });

  test('without a secret of its own a broker has no such paths, whatever the signature', async () => {
    const { t } = open({}, []);
    for (const headers of [headersOf(), headersOf({ secret: OLD_SECRET })]) {
      await likeUnknown(t, PATH, { method: 'POST', sending: { body: 'hello', headers } });
    }
    expect(() => createPeerSignatures([], clock)).toThrow('at least one secret');
    expect(() => createPeerSignatures('', clock)).toThrow('none is empty');
  });

  test('no document names them', async () => {
    const { t } = open();
    expect((await t.send('GET', '/openapi.json')).text).not.toContain('/v1/internal');
    expect((await t.send('OPTIONS', PATH)).headers.has('allow')).toBe(false);
  });

  test('a body is not even read', async () => {
    const { t } = open();
    let read = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        read += 1;
        controller.enqueue(new Uint8Array(1_000));
      },
    });
    const answer = await t.send('POST', PATH, { token: null, body, headers: headersOf({ secret: 'a-guess-of-the-secret' }) });
    expect(answer.status).toBe(404);
    // One piece is taken by the stream’s own queue.
    expect(read).toBeLessThanOrEqual(1);
  });
});

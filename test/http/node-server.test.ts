import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHttpServer, type HttpServer } from '../../src/cli/http-server.ts';
import { REQUEST_BYTES_MAX } from '../../src/model/limits.ts';
import { openRaw, type RawConnection } from '../cli/raw-http.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, type TestApp, TOKEN } from './test-app.ts';

// The app behind Node's own server, on real sockets: what only shows there.

let t: TestApp;
let server: HttpServer;
let port: number;
let log: Log;
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeEach(async () => {
  process.on('unhandledRejection', note);
  t = createTestApp();
  log = await openLog(t);
  server = createHttpServer((request, env) => t.app.fetch(request, env));
  port = await server.listen('127.0.0.1', 0);
});
afterEach(async () => {
  await server.close();
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

const head = (method: string, target: string, headers: readonly string[] = [], token = TOKEN): string =>
  `${method} ${target} HTTP/1.1\r\nHost: kelp\r\n${[...(token === '' ? [] : [`Authorization: Bearer ${token}`]), ...headers].map((line) => `${line}\r\n`).join('')}\r\n`;
const message = (): string => `/v1/topics/${log.topic}/message?key=a`;
const messages = (): string => `/v1/topics/${log.topic}/messages`;
const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);

async function ask(text: string): Promise<string> {
  const raw = await openRaw(port);
  raw.write(text);
  const answer = await raw.until('\r\n\r\n');
  raw.socket.destroy();
  return answer;
}

test('publishes and reads over a socket', async () => {
  const json = JSON.stringify(one({ key: 'a', text: 'x' }));
  const answer = await ask(head('POST', messages(), ['Content-Type: application/json', `Content-Length: ${json.length}`]) + json);
  expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(JSON.parse(bodyOf(answer))).toEqual({ results: [{ segment: log.segment, offset: 0 }] });
  const chunked = `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`;
  expect(await ask(head('POST', messages(), ['Content-Type: application/json', 'Transfer-Encoding: chunked']) + chunked)).toMatch(
    /^HTTP\/1.1 200/,
  );
  expect(await log.messages()).toMatchObject([{ text: 'x' }, { text: 'x' }]);
});

test('a request that needs no body has none: with a length of zero, and without any', async () => {
  const target = `/v1/topics/${log.topic}/segments/${log.segment}/brokers`;
  for (const headers of [[], ['Content-Length: 0'], ['Content-Length: 0', 'Content-Type: application/x-www-form-urlencoded']]) {
    expect(await ask(head('POST', target, headers))).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  }
});

test('J-08 repeated header lines stay two headers', async () => {
  await ask(head('POST', message(), ['Kelp-Header-a: 1', 'Kelp-Header-a: 2,3', 'KELP-HEADER-B:', 'Content-Length: 1']) + 'x');
  expect((await log.messages())[0].headers).toEqual([
    ['a', '1'],
    ['a', '2,3'],
    ['b', ''],
  ]);
});

test.each([
  '/v1/topics/..',
  '/v1/topics/../topics',
  '/v1/topics/%2e%2e/messages',
  '/v1/topics/.%2E',
  '/v1/./topics',
  '//v1',
  '/v1//topics',
  '/v1/topics\\a',
  '/v1/topics/a%2F..%2Fb',
  '/v1/topics/%00',
  '/v1/topics/a%0d%0aX:1',
])('A12: %s is refused as it was written', async (target) => {
  const answer = await ask(head('GET', target));
  expect(answer).toMatch(/^HTTP\/1.1 400/);
  expect(JSON.parse(bodyOf(answer))).toMatchObject({ code: expect.stringMatching(/^invalid-/), status: 400 });
  expect(answer).not.toMatch(/^X:/m);
});

describe('J-14: an answer reaches a client that is still sending', () => {
  /** Sends everything before it reads anything, as simple clients do. */
  async function sendAll(text: string, body: Uint8Array): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    await new Promise<void>((resolve, reject) => void socket.write(text, (error) => (error ? reject(error) : resolve())));
    await new Promise<void>((resolve, reject) => void socket.write(body, (error) => (error ? reject(error) : resolve())));
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => void pieces.push(piece)).resume();
    await expect.poll(() => Buffer.concat(pieces).toString()).toContain('\r\n\r\n');
    socket.destroy();
    return Buffer.concat(pieces).toString();
  }

  const over = new Uint8Array(REQUEST_BYTES_MAX + 1).fill(0x20);
  const chunked = Buffer.concat([Buffer.from(`${over.length.toString(16)}\r\n`), over, Buffer.from('\r\n0\r\n\r\n')]);
  test.each([
    [
      'too large, declared',
      413,
      () => head('POST', messages(), ['Content-Type: application/json', `Content-Length: ${over.length}`]),
      over,
    ],
    ['too large, chunked', 413, () => head('POST', messages(), ['Content-Type: application/json', 'Transfer-Encoding: chunked']), chunked],
    [
      'without a token',
      401,
      () => head('POST', messages(), ['Content-Type: application/json', `Content-Length: ${over.length}`], ''),
      over,
    ],
    ['of no type', 415, () => head('POST', messages(), ['Transfer-Encoding: chunked']), chunked],
    [
      'for no topic',
      404,
      () => head('POST', '/v1/topics/nowhere/messages', ['Content-Type: application/json', `Content-Length: ${over.length}`]),
      over,
    ],
  ])('%s', async (_, status, text, body) => {
    for (let n = 0; n < 3; n += 1) expect(await sendAll(text(), body)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(await log.tail()).toBe(0);
  });
});

describe('J-15 expect-100-continue', () => {
  const expecting = (length: number, headers: readonly string[] = [], token = TOKEN): string =>
    head('POST', message(), ['Content-Type: text/plain', `Content-Length: ${length}`, 'Expect: 100-continue', ...headers], token);

  test('a body that is welcome is asked for at once', async () => {
    const raw = await openRaw(port);
    raw.write(expecting(2_000));
    const beganMs = Date.now();
    expect(await raw.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    expect(Date.now() - beganMs).toBeLessThan(500);
    raw.write('x'.repeat(2_000));
    await raw.until('HTTP/1.1 200 OK');
    raw.socket.destroy();
    expect(await log.tail()).toBe(1);
  });

  test.each([
    ['too long for a message', () => expecting(2_000_000), 413],
    ['without a token', () => expecting(2_000, [], ''), 401],
    ['with a header that is wrong', () => expecting(2_000, ['Kelp-Match-Tail: x']), 400],
    ['to nowhere', () => expecting(2_000).replace(log.topic, 'nowhere'), 404],
  ])('one that is %s is not', async (_, text, status) => {
    const answer = await ask(text());
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).not.toContain('100 Continue');
  });

  test('another expectation is refused', async () => {
    expect(await ask(head('POST', message(), ['Content-Length: 1', 'Expect: other']))).toMatch(/^HTTP\/1.1 417/);
  });
});

test('A15 a slow body is 408 and nothing stored', async () => {
  const answer = await ask(head('POST', message(), ['Content-Length: 10', 'Kelp-Timeout-Ms: 200']) + 'x');
  expect(answer).toMatch(/^HTTP\/1.1 408/);
  expect(JSON.parse(bodyOf(answer))).toMatchObject({ code: 'timeout' });
  expect(await log.tail()).toBe(0);
});

describe('J-17 connections-that-die', () => {
  const TIMES = 200;
  const settled = (): Promise<void> => expect.poll(() => t.telemetry.total('http.server.active_requests')).toBe(0);

  async function reset(raw: RawConnection): Promise<void> {
    raw.socket.resetAndDestroy();
    await raw.ended();
  }

  test('in the middle of a body: nothing is stored', async () => {
    for (let n = 0; n < TIMES; n += 1) {
      const raw = await openRaw(port);
      raw.write(head('POST', message(), ['Content-Length: 100']) + 'abc');
      await expect.poll(() => t.telemetry.total('http.server.active_requests'), { interval: 1 }).toBe(1);
      await reset(raw);
      await settled();
    }
    expect(await log.tail()).toBe(0);
  });

  test('while the publish is under way: stored at most once', async () => {
    for (let n = 0; n < TIMES; n += 1) {
      const raw = await openRaw(port);
      raw.write(head('POST', message(), ['Content-Length: 3']) + String(n).padStart(3, '0'));
      if (n % 2 === 0) await expect.poll(() => t.telemetry.total('http.server.active_requests'), { interval: 1 }).toBeGreaterThanOrEqual(0);
      await reset(raw);
    }
    await settled();
    const values = (await log.messages()).map(({ bytes }) => bytes as string);
    expect(new Set(values).size).toBe(values.length);
  });

  test('in a poll, and in a stream: the waiter is gone', async () => {
    for (const accept of ['application/json', 'text/event-stream']) {
      for (let n = 0; n < TIMES; n += 1) {
        const raw = await openRaw(port);
        raw.write(head('GET', `/v1/topics/${log.topic}/segments/${log.segment}/messages?waitMs=25000`, [`Accept: ${accept}`]));
        if (accept === 'text/event-stream') await raw.until('\r\n\r\n');
        else await expect.poll(() => t.telemetry.total('http.server.active_requests'), { interval: 1 }).toBe(1);
        await reset(raw);
        await settled();
      }
    }
    await expect.poll(() => t.telemetry.total('kelp.http.waiters')).toBe(0);
  });
});

test('J-22 events are flushed one by one, and the headers before any of them', async () => {
  const raw = await openRaw(port);
  raw.write(
    head('GET', `/v1/topics/${log.topic}/segments/${log.segment}/messages`, ['Accept: text/event-stream', 'Accept-Encoding: gzip']),
  );
  const opened = await raw.until('\r\n\r\n');
  expect(opened).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(opened.toLowerCase()).not.toContain('content-encoding');
  for (let n = 0; n < 3; n += 1) {
    await log.publish(one({ key: 'a', text: `message ${n}` }));
    await raw.until(`id: ${log.segment}:${n + 1}\ndata: `);
    await raw.until(`"text":"message ${n}"`);
  }
  raw.socket.destroy();
});

test('pipelined publishes are stored in the order they were sent', async () => {
  const raw = await openRaw(port);
  const count = 50;
  for (let n = 0; n < count; n += 1)
    raw.write(head('POST', message(), ['Content-Type: text/plain', `Content-Length: ${String(n).length}`]) + n);
  await expect.poll(() => raw.received().split('HTTP/1.1 200 OK').length - 1).toBe(count);
  raw.socket.destroy();
  expect((await log.messages()).map(({ text }) => text)).toEqual(Array.from({ length: count }, (_, n) => String(n)));
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHttpServer, type Fetch, type HttpServer } from '../../src/cli/http-server.ts';
import { sendContinue } from '../../src/http/expect-continue.ts';
import { PIPELINED_REQUESTS_MAX } from '../../src/model/limits.ts';
import { openRaw } from './raw-http.ts';

/** Requests that the app has begun, and how each is let go. */
let begun: { path: string; finish: () => void }[];
/** What became of the bodies that the app read. */
let cut: string[];
let rawHeaders: string[];
let server: HttpServer;
let port: number;

const app: Fetch = async (request, env) => {
  const { pathname: path } = new URL(request.url);
  rawHeaders = env.incoming.rawHeaders;
  if (path === '/refuse') return new Response('refused', { status: 401 });
  if (path === '/echo') {
    sendContinue(env.incoming, env.outgoing);
    cut.push('begun');
    const text = await request.text().catch((error: unknown) => {
      cut.push('failed');
      throw error;
    });
    return new Response(text);
  }
  await new Promise<void>((resolve) => begun.push({ path, finish: resolve }));
  return new Response(`done ${path}`);
};

beforeEach(async () => {
  begun = [];
  cut = [];
  server = createHttpServer(app);
  port = await server.listen('127.0.0.1', 0);
});
afterEach(async () => {
  for (const { finish } of begun) finish();
  await server.close();
});

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: kelp\r\n\r\n`;
const ask = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: kelp\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`;
const untilBegun = (count: number): Promise<void> => expect.poll(() => begun.length).toBe(count);

test('pipelined requests take effect one after the other', async () => {
  const raw = await openRaw(port);
  raw.write(get('/1') + get('/2') + get('/3'));
  await untilBegun(1);
  // A second connection shows that the first one's later requests had every chance to begin.
  expect(await (await fetch(`http://127.0.0.1:${port}/echo`, { method: 'POST', body: 'x' })).text()).toBe('x');
  expect(begun.map(({ path }) => path)).toEqual(['/1']);
  for (const [index, path] of ['/1', '/2', '/3'].entries()) {
    await untilBegun(index + 1);
    begun[index]?.finish();
    await raw.until(`done ${path}`);
  }
  raw.socket.destroy();
});

test('a pipelined request has no effect when the connection ends before its turn', async () => {
  const raw = await openRaw(port);
  raw.write(get('/1') + get('/2'));
  await untilBegun(1);
  raw.socket.resetAndDestroy();
  begun[0]?.finish();
  expect(await (await fetch(`http://127.0.0.1:${port}/echo`, { method: 'POST', body: 'x' })).text()).toBe('x');
  expect(begun).toHaveLength(1);
});

test('a connection with too many pipelined requests is closed', async () => {
  const raw = await openRaw(port);
  raw.write(get('/x').repeat(PIPELINED_REQUESTS_MAX + 2));
  expect(await raw.ended()).toBe('');
});

describe('Expect: 100-continue', () => {
  test('asks for the body once the app does', async () => {
    const raw = await openRaw(port);
    raw.write(ask('/echo'));
    await raw.until('HTTP/1.1 100 Continue\r\n\r\n');
    raw.write('hello');
    expect(await raw.until('hello')).toContain('HTTP/1.1 200 OK');
    // The connection goes on.
    raw.write(get('/refuse'));
    await raw.until('refused');
    raw.socket.destroy();
  });

  test('answers at once, and closes, when the app refuses without reading', async () => {
    const raw = await openRaw(port);
    raw.write(ask('/refuse'));
    const answer = await raw.ended();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
  });

  test('refuses other expectations', async () => {
    const raw = await openRaw(port);
    raw.write(ask('/echo').replace('100-continue', 'other'));
    expect(await raw.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 417 /);
    raw.socket.destroy();
  });
});

test('a body that is cut ends its request and nothing else', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  for (let n = 0; n < 10; n++) {
    const raw = await openRaw(port);
    raw.write('POST /echo HTTP/1.1\r\nHost: kelp\r\nContent-Length: 100\r\n\r\nabc');
    await expect.poll(() => cut.length).toBe(n * 2 + 1);
    raw.socket.resetAndDestroy();
    await expect.poll(() => cut.length).toBe(n * 2 + 2);
  }
  process.off('unhandledRejection', note);
  expect(cut).toEqual(Array.from({ length: 10 }, () => ['begun', 'failed']).flat());
  expect(unhandled).toEqual([]);
  expect(await (await fetch(`http://127.0.0.1:${port}/refuse`)).text()).toBe('refused');
});

test('repeated header lines stay apart', async () => {
  const raw = await openRaw(port);
  raw.write('GET /refuse HTTP/1.1\r\nHost: kelp\r\nKelp-Header-a: 1\r\nKelp-Header-a: 2,3\r\n\r\n');
  await raw.until('refused');
  expect(rawHeaders.slice(2)).toEqual(['Kelp-Header-a', '1', 'Kelp-Header-a', '2,3']);
  raw.socket.destroy();
});

test('an idle connection is kept longer than the 60 s of common balancers', async () => {
  const raw = await openRaw(port);
  raw.write(get('/refuse'));
  const seconds = /\r\nKeep-Alive: timeout=(\d+)\r\n/i.exec(await raw.until('refused'))?.[1];
  expect(Number(seconds)).toBeGreaterThan(60);
  raw.socket.destroy();
});

test('while draining, a connection ends with its answer, also one that was asked for before', async () => {
  const raw = await openRaw(port);
  raw.write(get('/1'));
  await untilBegun(1);
  server.drain();
  begun[0]?.finish();
  expect(await raw.ended()).toMatch(/\r\nConnection: close\r\n[^]*done \/1/i);
  const next = await openRaw(port);
  next.write(get('/refuse'));
  expect(await next.ended()).toMatch(/\r\nConnection: close\r\n/i);
});

test('answers that were asked for one behind the other all come before a draining connection ends', async () => {
  const raw = await openRaw(port);
  raw.write(get('/1') + get('/2'));
  await untilBegun(1);
  await expect.poll(() => drained(get('/refuse'))).toMatch(/ 401 /);
  begun[0]?.finish();
  await untilBegun(2);
  begun[1]?.finish();
  expect(await raw.ended()).toMatch(/done \/1[^]*\r\nConnection: close\r\n[^]*done \/2/i);
});

/** Begins to drain, and answers what a connection of its own is told then. */
async function drained(request: string): Promise<string> {
  server.drain();
  const raw = await openRaw(port);
  raw.write(request);
  return raw.ended();
}

test('closing ends idle connections and waits for answers under way', async () => {
  const idle = await openRaw(port);
  idle.write(get('/refuse'));
  await idle.until('refused');
  const busy = await openRaw(port);
  busy.write(get('/1'));
  await untilBegun(1);
  const closed = server.close();
  await idle.ended();
  begun[0]?.finish();
  expect(await busy.ended()).toContain('done /1');
  await closed;
  server = createHttpServer(app); // afterEach closes what is open
  port = await server.listen('127.0.0.1', 0);
});

test('a port in use is one clear error', async () => {
  const second = createHttpServer(app);
  await expect(second.listen('127.0.0.1', port)).rejects.toMatchObject({
    code: 'cannot-listen',
    message: `cannot listen on 127.0.0.1:${port}: the port is in use (set KELP_PORT)`,
  });
});

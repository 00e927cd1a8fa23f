import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { PresignedRequest } from '../../src/ports/presigner.ts';
import { freshPrefix, sharedStack } from '../stack.ts';

// Clients reach SeaweedFS by something that stands in front of it, and changes what they send.

const { store } = sharedStack();
const upstream = new URL(store.endpoint);
const HELLO = {
  bytes: 5,
  sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  contentType: 'text/plain; charset=utf-8',
};
const MINUTE_MS = 60_000;

type Passed = { readonly path: string; readonly headers: IncomingHttpHeaders };
/** What a proxy makes of a request's path and headers. */
type Change = (path: string, headers: IncomingHttpHeaders) => Passed;

const kept: Change = (path, headers) => ({ path, headers });
const strip = (path: string): string => path.replace(/^\/s3(?=\/)/, '');
const stripped =
  (more: Record<string, string>): Change =>
  (path, headers) => ({ path: strip(path), headers: { ...headers, ...more } });
/** With the store's own host in place of the client's, as most proxies do by themselves. */
const renamed =
  (moreOf: (host: string) => Record<string, string>): Change =>
  (path, headers) => ({ path: strip(path), headers: { ...headers, host: upstream.host, ...moreOf(headers.host ?? '') } });

/** Answers its port. */
async function startProxy(change: Change): Promise<number> {
  const server = createServer((message, response) => {
    const { path, headers } = change(message.url ?? '', message.headers);
    const passed = httpRequest({ host: upstream.hostname, port: upstream.port, method: message.method, path, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
    });
    message.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

/** To the proxy, whatever name a client knows it by. */
async function sendBy(port: number, { method, url, headers }: PresignedRequest, body = ''): Promise<string> {
  const { host, pathname, search } = new URL(url);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = { host: '127.0.0.1', port, method, path: `${pathname}${search}`, headers: { ...headers, host }, agent: false };
    httpRequest(sent, resolve).once('error', reject).end(body);
  });
  return `${answer.statusCode} ${(await text(answer)).match(/(?<=<Code>)\w+/)?.[0] ?? ''}`.trim();
}

async function throughProxy(publicEndpoint: (port: number) => string, change: Change): Promise<string[]> {
  const port = await startProxy(change);
  const presigner = createPresigner({ ...store, publicEndpoint: publicEndpoint(port), clock: createSystemClock() });
  const key = `${freshPrefix()}/u0`;
  const put = presigner.put(key, HELLO, MINUTE_MS);
  const range = presigner.get(key, MINUTE_MS, { start: 1, bytes: 3 });
  return [
    await sendBy(port, put, 'hellO'),
    await sendBy(port, put, 'hello'),
    await sendBy(port, put, 'hello'),
    await sendBy(port, presigner.get(key, MINUTE_MS)),
    await sendBy(port, range),
  ];
}

const plain = (port: number): string => `http://127.0.0.1:${port}`;
const withPath = (port: number): string => `http://127.0.0.1:${port}/s3/`;
const secure = (): string => 'https://files.example.org/s3';
const securePort = (): string => 'https://files.example.org:8443/s3/';
const PREFIX = { 'x-forwarded-prefix': '/s3' };

const TAKEN: Record<string, [(port: number) => string, Change]> = {
  'its host is kept': [plain, kept],
  'a path is taken away, and told': [withPath, stripped(PREFIX)],
  'a path is taken away, and told with a slash at its end': [withPath, stripped({ 'x-forwarded-prefix': '/s3/' })],
  'another host, the first one told with its port': [withPath, renamed((host) => ({ ...PREFIX, 'x-forwarded-host': host }))],
  'https, another host': [secure, renamed((host) => ({ ...PREFIX, 'x-forwarded-host': host, 'x-forwarded-proto': 'https' }))],
  'https, its host kept': [secure, stripped(PREFIX)],
  'https on another port, told by itself': [
    securePort,
    renamed(() => ({ ...PREFIX, 'x-forwarded-host': 'files.example.org', 'x-forwarded-proto': 'https', 'x-forwarded-port': '8443' })),
  ],
};

const REFUSED: Record<string, [(port: number) => string, Change]> = {
  'a path is taken away, and nothing told': [withPath, stripped({})],
  'another host, and nothing told': [withPath, renamed(() => PREFIX)],
  'a port that is not told': [securePort, renamed(() => ({ ...PREFIX, 'x-forwarded-host': 'files.example.org' }))],
};

describe('J-40 behind a proxy', () => {
  test.for(Object.entries(TAKEN))('%s: the store takes what was signed, and nothing else', async ([, [endpoint, change]]) => {
    expect(await throughProxy(endpoint, change)).toEqual(['400 BadDigest', '200', '412 PreconditionFailed', '200', '206']);
  });

  test.for(Object.entries(REFUSED))('%s: the store refuses everything', async ([, [endpoint, change]]) => {
    expect(new Set(await throughProxy(endpoint, change))).toEqual(new Set(['403 SignatureDoesNotMatch']));
  });
});

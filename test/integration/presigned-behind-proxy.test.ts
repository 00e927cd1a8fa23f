import { describe, expect, onTestFinished, test } from 'vitest';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { PresignedRequest } from '../../src/ports/presigner.ts';
import { freshPrefix, sharedStack } from '../stack.ts';
import { type Change, kept, renamed, startChangingProxy, stripped } from './changing-proxy.ts';
import { sendRaw } from './raw-request.ts';

// Clients reach SeaweedFS by something that stands in front of it, and changes what they send.

const { store } = sharedStack();
const upstream = new URL(store.endpoint);
const HELLO = {
  bytes: 5,
  sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  contentType: 'text/plain; charset=utf-8',
};
const MINUTE_MS = 60_000;

async function throughProxy(publicEndpoint: (port: number) => string, change: Change): Promise<string[]> {
  const { port, stop } = await startChangingProxy(upstream, change);
  onTestFinished(stop);
  const sent = async (request: PresignedRequest, body?: string): Promise<string> => {
    // To the proxy, whatever name a client knows it by.
    const { status, code } = await sendRaw(request, body, { port });
    return `${status} ${code}`.trim();
  };
  const presigner = createPresigner({ ...store, publicEndpoint: publicEndpoint(port), clock: createSystemClock() });
  const key = `${freshPrefix()}/u0`;
  const put = presigner.put(key, HELLO, MINUTE_MS);
  const range = presigner.get(key, MINUTE_MS, { start: 1, bytes: 3 });
  return [
    await sent(put, 'hellO'),
    await sent(put, 'hello'),
    await sent(put, 'hello'),
    await sent(presigner.get(key, MINUTE_MS)),
    await sent(range),
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
  'another host, the first one told with its port': [withPath, renamed(upstream, (host) => ({ ...PREFIX, 'x-forwarded-host': host }))],
  'https, another host': [secure, renamed(upstream, (host) => ({ ...PREFIX, 'x-forwarded-host': host, 'x-forwarded-proto': 'https' }))],
  'https, its host kept': [secure, stripped(PREFIX)],
  'https on another port, told by itself': [
    securePort,
    renamed(upstream, () => ({
      ...PREFIX,
      'x-forwarded-host': 'files.example.org',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '8443',
    })),
  ],
};

const REFUSED: Record<string, [(port: number) => string, Change]> = {
  'a path is taken away, and nothing told': [withPath, stripped({})],
  'another host, and nothing told': [withPath, renamed(upstream, () => PREFIX)],
  'a port that is not told': [securePort, renamed(upstream, () => ({ ...PREFIX, 'x-forwarded-host': 'files.example.org' }))],
};

describe('J-40 behind a proxy', () => {
  test.for(Object.entries(TAKEN))('%s: the store takes what was signed, and nothing else', async ([, [endpoint, change]]) => {
    expect(await throughProxy(endpoint, change)).toEqual(['400 BadDigest', '200', '412 PreconditionFailed', '200', '206']);
  });

  test.for(Object.entries(REFUSED))('%s: the store refuses everything', async ([, [endpoint, change]]) => {
    expect(new Set(await throughProxy(endpoint, change))).toEqual(new Set(['403 SignatureDoesNotMatch']));
  });
});

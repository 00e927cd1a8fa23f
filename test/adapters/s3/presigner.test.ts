import { expect, test } from 'vitest';
import { createPresigner, type PresignerSettings } from '../../../src/adapters/s3/presigner.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const SETTINGS: PresignerSettings = {
  bucket: 'kelp',
  region: 'eu-west-1',
  accessKey: 'access',
  secretKey: 'secret',
  clock: createVirtualClock(),
};
const MINUTE_MS = 60_000;

test.for([
  ['the endpoint', { endpoint: 'http://127.0.0.1:8333' }, 'http://127.0.0.1:8333/kelp/uploads/t/u?'],
  ['the region\u2019s own', {}, 'https://s3.eu-west-1.amazonaws.com/kelp/uploads/t/u?'],
  [
    'a public one',
    { endpoint: 'http://10.0.0.8:8333', publicEndpoint: 'https://files.example.org' },
    'https://files.example.org/kelp/uploads/t/u?',
  ],
  [
    'a public one with a path',
    { endpoint: 'http://10.0.0.8:8333', publicEndpoint: 'https://files.example.org:8443/s3' },
    'https://files.example.org:8443/s3/kelp/uploads/t/u?',
  ],
  [
    'a public one with a path that ends in a slash',
    { publicEndpoint: 'https://files.example.org/a/s3/' },
    'https://files.example.org/a/s3/kelp/uploads/t/u?',
  ],
] as const)('a URL is one of %s', ([, addresses, begin]) => {
  const { url } = createPresigner({ ...SETTINGS, ...addresses }).get('uploads/t/u', MINUTE_MS);
  expect(url.slice(0, begin.length)).toBe(begin);
});

test('a signature is of the host and the path that clients send', () => {
  const endpoints = ['https://a.example.org', 'https://b.example.org', 'https://a.example.org:8443', 'https://a.example.org/s3'];
  const signatures = endpoints.map((publicEndpoint) => {
    const { url } = createPresigner({ ...SETTINGS, publicEndpoint }).get('uploads/t/u', MINUTE_MS);
    return new URL(url).searchParams.get('X-Amz-Signature');
  });
  expect(new Set(signatures).size).toBe(endpoints.length);
});

test('nobody can sign without keys', () => {
  const { accessKey: _, ...without } = SETTINGS;
  expect(() => createPresigner(without)).toThrow(expect.objectContaining({ kind: 'invalid', code: 'invalid-configuration' }));
});

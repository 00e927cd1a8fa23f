import { expect, test } from 'vitest';
import { readCommonConfiguration, readStoresConfiguration } from '../../src/cli/environment.ts';

test('a function that needs the table alone reads nothing else, and takes the credentials that its platform puts there', () => {
  const credentials = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_SESSION_TOKEN: 'token' };
  expect(readCommonConfiguration({ KELP_TABLE: 'kelp-dev', AWS_REGION: 'eu-west-1', KELP_SECRET: 'x', ...credentials })).toEqual({
    table: { table: 'kelp-dev', region: 'eu-west-1', accessKey: 'id', secretKey: 'key', sessionToken: 'token' },
  });
});

test('a table of one’s own, and two secrets while one is replaced', () => {
  const secrets = 'an-internal-secret,another-internal-secret';
  expect(readCommonConfiguration({ KELP_TABLE_ENDPOINT: 'http://127.0.0.1:8000', KELP_INTERNAL_SECRET: secrets, AWS_REGION: '' })).toEqual({
    internalSecrets: ['an-internal-secret', 'another-internal-secret'],
    table: { table: 'kelp', region: 'us-east-1', endpoint: 'http://127.0.0.1:8000', accessKey: 'local', secretKey: 'local' },
  });
});

test('what is wrong is said line by line, and no secret is shown', () => {
  const read = (): unknown => readCommonConfiguration({ KELP_TABLE: 'k', KELP_TABLE_ENDPOINT: 'nowhere', KELP_INTERNAL_SECRET: 'short' });
  expect(read).toThrow(expect.objectContaining({ kind: 'invalid', code: 'invalid-configuration' }));
  expect(read).toThrow(
    /^KELP_INTERNAL_SECRET must be a secret [^"]*\nKELP_TABLE must be .*, but is "k"\nKELP_TABLE_ENDPOINT must be .*, but is "nowhere"$/,
  );
});

test.each([
  ['http://user:password@store.example.com', 'http://***@store.example.com'],
  ['user:pass@word@store.example.com/x', '***@store.example.com/x'],
  ['ftp://store.example.com', 'ftp://store.example.com'],
])('of a wrong URL, user and password are not shown: %s', (endpoint, shown) => {
  const read = (): unknown => readCommonConfiguration({ KELP_TABLE_ENDPOINT: endpoint });
  expect(read).toThrow(`KELP_TABLE_ENDPOINT must be a URL such as http://127.0.0.1:8333, but is "${shown}"`);
});

test('one that needs the messages, too, reads where they are, and no token', () => {
  const keys = { KELP_S3_ACCESS_KEY: 'id', KELP_S3_SECRET_KEY: 'key' };
  expect(
    readStoresConfiguration({ KELP_S3_ENDPOINT: 'http://127.0.0.1:8333', KELP_TABLE_ENDPOINT: 'http://127.0.0.1:8000', ...keys }),
  ).toEqual({
    table: { table: 'kelp', region: 'us-east-1', endpoint: 'http://127.0.0.1:8000', accessKey: 'local', secretKey: 'local' },
    store: { endpoint: 'http://127.0.0.1:8333', bucket: 'kelp', region: 'us-east-1', accessKey: 'id', secretKey: 'key' },
  });
  expect(() => readStoresConfiguration(keys)).toThrow(/^KELP_S3_ENDPOINT is missing[^\n]*$/);
});

test('where clients reach the store may be another address than the broker\u2019s, behind a path, too', () => {
  const stores = { KELP_S3_ENDPOINT: 'http://10.0.0.8:8333', KELP_S3_ACCESS_KEY: 'id', KELP_S3_SECRET_KEY: 'key' };
  const publicEndpointOf = (endpoint: string) =>
    readStoresConfiguration({ ...stores, KELP_S3_PUBLIC_ENDPOINT: endpoint }).store.publicEndpoint;
  for (const endpoint of [
    'https://files.example.org',
    'http://127.0.0.1:8333/',
    'https://a.example.org/s3',
    'https://a.example.org/a/s3/',
  ]) {
    expect(publicEndpointOf(endpoint)).toBe(endpoint);
  }
  expect(publicEndpointOf('')).toBeUndefined();
  for (const endpoint of [
    'files.example.org',
    'ftp://a',
    'https://a/s3?b',
    'https://a/s3#b',
    'https://u:p@a/s3',
    'https://a//s3',
    'https://a/s 3',
  ]) {
    expect(() => publicEndpointOf(endpoint)).toThrow(/^KELP_S3_PUBLIC_ENDPOINT must be a URL such as https:[^\n]*$/);
  }
  expect(() => readStoresConfiguration({ ...stores, KELP_S3_ENDPOINT: 'http://10.0.0.8:8333/s3' })).toThrow(/^KELP_S3_ENDPOINT must be/);
});

test('one key of the table without the other is told: it would be taken for none, and another identity be used', () => {
  const at = { KELP_TABLE_ENDPOINT: 'http://127.0.0.1:8000' };
  for (const [given, missing] of [
    ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
    ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID'],
  ] as const) {
    for (const more of [at, {}]) {
      const read = (): unknown => readCommonConfiguration({ ...more, [given]: 'a-key' });
      expect(read).toThrow(expect.objectContaining({ kind: 'invalid', code: 'invalid-configuration' }));
      expect(read).toThrow(new RegExp(`^${missing} is missing: [^\\n]*$`));
    }
  }
});

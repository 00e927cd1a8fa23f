import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { openTable } from '../../src/cli/open-table.ts';
import { startStub, type Stub } from '../conformance/stub-server.ts';

const clock = createSystemClock();
const ROLE = { AccessKeyId: 'of-the-role', SecretAccessKey: 'secret', Token: 'token', Expiration: '2099-01-01T00:00:00Z' };

/** The table, and where a machine with a role gets that role's keys. */
let stub: Stub;
beforeEach(async () => {
  stub = await startStub((response, { message }) => {
    response.setHeader('content-type', message.method === 'GET' ? 'application/json' : 'application/x-amz-json-1.0');
    response.end(message.method === 'GET' ? JSON.stringify(ROLE) : '{}');
  });
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${stub.endpoint}/role`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stub.stop();
});

test.each([
  ['keys of its own', { accessKey: 'own', secretKey: 'secret' }, 'own'],
  ['the machine’s role', {}, 'of-the-role'],
])('by %s', async (_, keys, signedBy) => {
  const table = await openTable({ table: 'kelp', region: 'eu-west-1', endpoint: stub.endpoint, ...keys }, clock);
  expect(await table.get({ pk: 'a', sk: 'b' }, AbortSignal.timeout(10_000))).toBeUndefined();
  expect(stub.requests.at(-1)?.message.headers.authorization).toContain(`Credential=${signedBy}/`);
});

test('a function without keys says so in one line', () => {
  const open = () => createLeanTable({ table: 'kelp', region: 'eu-west-1', clock });
  expect(open).toThrow(
    expect.objectContaining({
      kind: 'invalid',
      code: 'invalid-configuration',
      message: 'no credentials for dynamodb: an access key and a secret key must be in the environment',
    }),
  );
});

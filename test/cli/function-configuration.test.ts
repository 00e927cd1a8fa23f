import { expect, test } from 'vitest';
import { readFunctionConfiguration } from '../../src/cli/function-configuration.ts';

const COMPLETE = {
  KELP_ROOT_TOKEN: 'root-token-of-the-test',
  KELP_SECRET: 'a-secret-of-the-test',
  KELP_S3_ENDPOINT: 'http://127.0.0.1:8333',
  KELP_S3_ACCESS_KEY: 'access',
  KELP_S3_SECRET_KEY: 'secret',
};

test('all instances are one broker, whose requests fit the platform', () => {
  expect(readFunctionConfiguration(COMPLETE)).toMatchObject({ broker: { id: 'fleet' }, requestBytesMax: 4_194_304 });
  expect(readFunctionConfiguration({ ...COMPLETE, KELP_REQUEST_BYTES_MAX: '65536' }).requestBytesMax).toBe(65_536);
});

test.each(['4194305', '16777216', '65535'])('a request of %s bytes at most is refused: the platform takes 6 MB after base64', (text) => {
  const line = `KELP_REQUEST_BYTES_MAX must be a number of bytes from 65536 to 4194304, but is "${text}"`;
  expect(() => readFunctionConfiguration({ ...COMPLETE, KELP_REQUEST_BYTES_MAX: text })).toThrow(new RegExp(`^${line}$`));
});

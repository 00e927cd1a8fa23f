import { DeleteBucketCommand } from '@aws-sdk/client-s3';
import { afterAll, expect, test } from 'vitest';
import { makeBucket } from '../../infra/local/make-bucket.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSdkClient } from '../../src/adapters/s3/sdk-client.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { sharedStack } from '../stack.ts';

// What a web page's script may do with the store: what is signed, and nothing else.

const bucket = 'kelp-origins';
const { signal } = new AbortController();
const settings = { ...sharedStack().store, bucket };
const APP = 'https://app.example.org';
const OTHER = 'https://other.example.org';
afterAll(async () => {
  await createSdkClient(settings).send(new DeleteBucketCommand({ Bucket: bucket }));
});

const presigner = createPresigner({ ...settings, clock: createSystemClock() });
const putRequest = presigner.put('uploads/t/u', { bytes: 1, sha256: 'ab'.repeat(32), contentType: 'a/b' }, 60_000);
const getRequest = presigner.get('uploads/t/u', 60_000, { start: 0, bytes: 1 });
/** As a browser asks for them; it sets the length by itself. */
const asked = ({ headers }: typeof putRequest): string =>
  Object.keys(headers)
    .filter((name) => name !== 'content-length')
    .join(',');

/** What a browser asks before it sends the request; whether it would send it. */
async function mayAsk(origin: string, method: string, headers: string): Promise<boolean> {
  const preflight = { origin, 'access-control-request-method': method, 'access-control-request-headers': headers };
  const { status, headers: answer } = await fetch(putRequest.url, { method: 'OPTIONS', headers: preflight, signal });
  expect(answer.get('access-control-allow-credentials')).toBeNull();
  const list = (name: string): string[] => (answer.get(name) ?? '').toLowerCase().split(/, ?/);
  const originAllowed = ['*', origin].includes(answer.get('access-control-allow-origin') ?? '');
  const headersAllowed = headers.split(',').every((name) => list('access-control-allow-headers').includes(name));
  return status === 200 && originAllowed && list('access-control-allow-methods').includes(method.toLowerCase()) && headersAllowed;
}

test('pages of the origins that are named may send what is signed, and nothing else; others nothing', async () => {
  await makeBucket(settings, [APP, 'http://127.0.0.1:8080'], signal);
  expect(await mayAsk(APP, 'PUT', asked(putRequest))).toBe(true);
  expect(await mayAsk('http://127.0.0.1:8080', 'PUT', asked(putRequest))).toBe(true);
  expect(await mayAsk(APP, 'GET', asked(getRequest))).toBe(true);
  expect(await mayAsk(APP, 'DELETE', asked(putRequest))).toBe(false);
  expect(await mayAsk(APP, 'PUT', `${asked(putRequest)},x-amz-acl`)).toBe(false);
  expect(await mayAsk(APP, 'PUT', `${asked(putRequest)},authorization`)).toBe(false);
  expect(await mayAsk(OTHER, 'PUT', asked(putRequest))).toBe(false);
  expect(await mayAsk(OTHER, 'GET', asked(getRequest))).toBe(false);
});

test('asked again, other origins take their place, or all; without origins what is there stays', async () => {
  await makeBucket(settings, [OTHER], signal);
  await makeBucket(settings, undefined, signal);
  expect([await mayAsk(APP, 'PUT', asked(putRequest)), await mayAsk(OTHER, 'PUT', asked(putRequest))]).toEqual([false, true]);
  await makeBucket(settings, ['*'], signal);
  expect([await mayAsk(APP, 'PUT', asked(putRequest)), await mayAsk(OTHER, 'PUT', asked(putRequest))]).toEqual([true, true]);
  expect(await mayAsk(APP, 'DELETE', asked(putRequest))).toBe(false);
});

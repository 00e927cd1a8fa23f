import { describe, expect, test } from 'vitest';
import { createSigner, percentEncode } from '../../../src/adapters/signed-http/signature.ts';

// The keys, requests and signatures are the worked examples of Amazon's documentation of the signature for S3.
const SIGNING = { region: 'us-east-1', accessKey: 'AKIAIOSFODNN7EXAMPLE', secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
const NO_BODY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const BASE = { method: 'GET', host: 'examplebucket.s3.amazonaws.com', bodyHash: NO_BODY, timeMs: Date.UTC(2013, 4, 24) };

function signatureOf(headers: Record<string, string>): string | undefined {
  return headers['authorization']?.split('Signature=')[1];
}

describe('signature', () => {
  const sign = createSigner('s3', SIGNING);

  test('of a read of a range', () => {
    const headers = { range: 'bytes=0-9', 'x-amz-content-sha256': NO_BODY };
    const signed = sign({ ...BASE, path: '/test.txt', query: '', headers });
    expect(signed).toEqual({
      host: BASE.host,
      ...headers,
      'x-amz-date': '20130524T000000Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    });
  });

  test('of a list', () => {
    const signed = sign({ ...BASE, path: '/', query: 'max-keys=2&prefix=J', headers: { 'x-amz-content-sha256': NO_BODY } });
    expect(signatureOf(signed)).toBe('34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7');
  });

  test('of a write', () => {
    const bodyHash = '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072';
    const headers = {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      'x-amz-content-sha256': bodyHash,
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    };
    const signed = sign({ ...BASE, method: 'PUT', path: `/${percentEncode('test$file.text')}`, query: '', headers, bodyHash });
    expect(signatureOf(signed)).toBe('98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd');
  });

  test('is that of its day, whatever was signed before', () => {
    const nextDay = { ...BASE, path: '/', query: '', headers: {}, timeMs: BASE.timeMs + 86_400_000 };
    const unused = createSigner('s3', SIGNING)(nextDay);
    sign({ ...nextDay, timeMs: BASE.timeMs });
    expect(sign(nextDay)).toEqual(unused);
    expect(sign({ ...nextDay, timeMs: BASE.timeMs })).not.toEqual(unused);
  });

  test('covers a session token', () => {
    const temporary = createSigner('s3', { ...SIGNING, sessionToken: 'token' });
    const signed = temporary({ ...BASE, path: '/', query: '', headers: {} });
    expect(signed['x-amz-security-token']).toBe('token');
    expect(signed['authorization']).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token,');
    expect(signatureOf(signed)).not.toBe(signatureOf(sign({ ...BASE, path: '/', query: '', headers: {} })));
  });

  test('percent encoding leaves only the unreserved characters', () => {
    expect(percentEncode("azAZ09-._~ !'()*/=+&\u00e9")).toBe('azAZ09-._~%20%21%27%28%29%2A%2F%3D%2B%26%C3%A9');
  });
});

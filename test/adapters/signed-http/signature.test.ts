import { describe, expect, test } from 'vitest';
import { createSigner, createUrlSigner, percentEncode } from '../../../src/adapters/signed-http/signature.ts';

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

  describe('in a URL', () => {
    const url = { method: 'GET', host: BASE.host, path: '/test.txt', query: {}, headers: {}, timeMs: BASE.timeMs, seconds: 86_400 };

    test('of a read', () => {
      expect(createUrlSigner('s3', SIGNING)(url)).toBe(
        'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
          '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
          '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
      );
    });

    test('has its parameters in order, and covers all of them, the headers and a session token', () => {
      const signUrl = createUrlSigner('s3', { ...SIGNING, sessionToken: 'a/b+c=' });
      const query = { 'response-content-type': 'a/b', 'A-first': '1' };
      const names = [...new URLSearchParams(signUrl({ ...url, query })).keys()];
      expect(names.slice(0, -1)).toEqual(names.slice(0, -1).toSorted());
      expect(names.at(-1)).toBe('X-Amz-Signature');
      expect(signUrl(url)).toContain('&X-Amz-Security-Token=a%2Fb%2Bc%3D&');
      const changed = [
        signUrl(url),
        createUrlSigner('s3', { ...SIGNING, sessionToken: 'another' })(url),
        createUrlSigner('s3', SIGNING)(url),
        signUrl({ ...url, query }),
        signUrl({ ...url, headers: { range: 'bytes=0-1' } }),
        signUrl({ ...url, headers: { range: 'bytes=0-2' } }),
        signUrl({ ...url, seconds: 86_401 }),
        signUrl({ ...url, method: 'PUT' }),
        signUrl({ ...url, path: '/test.tx' }),
      ].map((signed) => new URLSearchParams(signed).get('X-Amz-Signature'));
      expect(new Set(changed).size).toBe(changed.length);
    });

    test('takes several blanks in a header for one, as those do who check it', () => {
      const signUrl = createUrlSigner('s3', SIGNING);
      expect(signUrl({ ...url, headers: { 'content-type': 'a/b; c="d   e"' } })).toBe(
        signUrl({ ...url, headers: { 'content-type': 'a/b; c="d e"' } }),
      );
    });
  });

  test('percent encoding leaves only the unreserved characters', () => {
    expect(percentEncode("azAZ09-._~ !'()*/=+&\u00e9")).toBe('azAZ09-._~%20%21%27%28%29%2A%2F%3D%2B%26%C3%A9');
  });
});

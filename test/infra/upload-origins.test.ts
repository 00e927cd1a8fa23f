import { expect, test } from 'vitest';
import { readUploadOrigins } from '../../infra/local/upload-origins.ts';

const read = (text?: string) => readUploadOrigins({ KELP_UPLOAD_ORIGINS: text });

test('origins are told one after the other, or all at once', () => {
  expect(read('https://app.example.org')).toEqual(['https://app.example.org']);
  expect(read('https://app.example.org,http://127.0.0.1:8080')).toEqual(['https://app.example.org', 'http://127.0.0.1:8080']);
  expect(read('*')).toEqual(['*']);
  expect([read(), read('')]).toEqual([undefined, undefined]);
});

test.each([
  'app.example.org',
  'https://app.example.org/',
  'https://a,',
  '*,https://a',
  'https://*.example.org',
  'https://a b',
  'https://u@a',
])('what is no origin is refused: %s', (text) => expect(() => read(text)).toThrow(/^KELP_UPLOAD_ORIGINS must be origins such as /));

import { describe, expect, test } from 'vitest';
import { parseErrorCode, parseListAnswer } from '../../../src/adapters/s3/list-answer.ts';

const list = (inner: string): string => `<?xml version="1.0"?>\n<ListBucketResult xmlns="x"><Name>b</Name>${inner}</ListBucketResult>`;

describe('list answer', () => {
  test('keys and sizes, and where the next page begins', () => {
    const xml = list(
      '<IsTruncated>true</IsTruncated><Contents><Key>a/1</Key><ETag>&#34;x&#34;</ETag><Size>7</Size></Contents>\n' +
        '<Contents><Size>0</Size><Key>a/%C3%A9%26+%2B</Key></Contents>',
    );
    expect(parseListAnswer(xml)).toEqual({
      objects: [
        { key: 'a/1', bytes: 7 },
        { key: 'a/\u00e9& +', bytes: 0 },
      ],
      next: 'a/\u00e9& +',
    });
  });

  test('an empty page', () => {
    expect(parseListAnswer(list('<IsTruncated>false</IsTruncated>'))).toEqual({ objects: [] });
  });

  test.for(['', '<html></html>', list('<Contents><Key>a</Key></Contents>'), list('<Contents><Key>a</Key><Size>x</Size></Contents>')])(
    'what is no list is an error: %s',
    (xml) => {
      expect(() => parseListAnswer(xml)).toThrow(/list/);
    },
  );

  test('an error\u2019s name', () => {
    expect(parseErrorCode('<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>')).toBe('SlowDown');
    expect(parseErrorCode('<html><Code>SlowDown</Code></html>')).toBeUndefined();
    expect(parseErrorCode('')).toBeUndefined();
  });
});

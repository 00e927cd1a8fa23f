import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeProblem, encodeProblem } from '../../src/format/peer-problem.ts';
import { type ErrorKind, KelpError } from '../../src/model/errors.ts';

const KINDS: readonly ErrorKind[] = [
  'invalid',
  'denied',
  'not-found',
  'conflict',
  'fenced',
  'throttled',
  'unavailable',
  'indefinite',
  'corrupt',
];

const errors = fc
  .record({
    kind: fc.constantFrom(...KINDS),
    code: fc.string(),
    message: fc.string({ unit: 'binary' }),
    field: fc.option(fc.string(), { nil: undefined }),
    retryAfterMs: fc.option(fc.nat(), { nil: undefined }),
    extra: fc.dictionary(fc.string(), fc.jsonValue({ depthSize: 'small' }), { noNullPrototype: true }),
  })
  .map(({ kind, code, message, field, retryAfterMs, extra }) => {
    // Only what JSON gives back as it was.
    const plain = JSON.parse(JSON.stringify(extra)) as Record<string, unknown>;
    const details = { ...(field === undefined ? {} : { field }), ...(retryAfterMs === undefined ? {} : { retryAfterMs }), extra: plain };
    return new KelpError(kind, code, message.toWellFormed(), details);
  });

test('an error comes back as it was thrown', () => {
  fc.assert(
    fc.property(errors, fc.integer({ min: 400, max: 599 }), (error, status) => {
      const { kind, code, message, field, retryAfterMs, extra } = error;
      expect(decodeProblem(status, encodeProblem(error))).toMatchObject({ kind, code, message, field, retryAfterMs, extra });
    }),
  );
});

test('what is no error of Kelp’s says nothing of itself, and its effect is unknown', () => {
  const body = encodeProblem(new TypeError('secret-insides'));
  expect(new TextDecoder().decode(body)).not.toContain('secret-insides');
  expect(decodeProblem(500, body)).toMatchObject({ kind: 'indefinite', code: 'internal' });
});

test.for([
  [503, 'unavailable'],
  [429, 'throttled'],
  [500, 'indefinite'],
  [404, 'indefinite'],
] as const)('of an answer %s that can’t be understood, only the status counts', ([status, kind]) => {
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '{"kind":"odd","code":"a","message":"b"}',
    '{"kind":"invalid"}',
    '{"kind":"toString","code":"a","message":"b"}',
  ]) {
    expect(decodeProblem(status, new TextEncoder().encode(text)).kind).toBe(kind);
  }
  expect(decodeProblem(status, new Uint8Array([0xff, 0xfe])).kind).toBe(kind);
});

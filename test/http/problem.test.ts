import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ErrorKind, KelpError } from '../../src/model/errors.ts';
import { PROBLEM_BYTES_MAX } from '../../src/model/limits.ts';
import { PROBLEMS, problemOf, problemText } from '../../src/http/problem.ts';

/** Codes that are no client's doing: of a bug, of the process's own start, or turned into another error before HTTP. */
const INSIDE = ['table-refused', 'store-refused', 'object-not-found', 'invalid-configuration', 'conflict', 'lost-condition'];

/** Every error that the source raises by a literal. */
function raised(): { kind: ErrorKind; code: string; file: string }[] {
  const files = globSync('src/**/*.ts', { cwd: new URL('../../', import.meta.url).pathname });
  return files.flatMap((file) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    const errors = [...text.matchAll(/new KelpError\(\s*'([a-z-]+)',\s*'([a-z-]+)'/g)].map(([, kind, code]) => ({ kind, code, file }));
    const invalids = [...text.matchAll(/\binvalid\(\s*'([a-z-]+)'/g)].map(([, code]) => ({ kind: 'invalid', code, file }));
    return [...errors, ...invalids] as { kind: ErrorKind; code: string; file: string }[];
  });
}

test('every error of the source is a documented problem, or known to be none of a client’s', () => {
  const errors = raised();
  expect(errors.length).toBeGreaterThan(50);
  for (const { kind, code, file } of errors) {
    const problem = problemOf(new KelpError(kind, code, 'x'));
    if (INSIDE.includes(code)) continue;
    expect([file, code, problem.code]).not.toEqual([file, code, 'internal']);
    if (kind === 'invalid' && code.startsWith('invalid-')) expect([problem.status, problem.code]).toEqual([400, code]);
    else expect([problem.status, problem.retryable]).toEqual(Object.values(PROBLEMS[problem.code as keyof typeof PROBLEMS]));
  }
});

describe('what clients go by', () => {
  test.each([
    ['throttled', 'table-throttled', { status: 429, code: 'throttled', reason: 'segment', retryable: true }],
    ['conflict', 'table-conflict', { status: 429, code: 'throttled', reason: 'segment', retryable: true }],
    ['throttled', 'store-throttled', { status: 429, code: 'throttled', reason: 'broker' }],
    ['unavailable', 'store-unavailable', { status: 503, code: 'unavailable' }],
    ['indefinite', 'table-indefinite', { status: 504, code: 'indefinite', indefinite: true, retryable: true }],
    ['corrupt', 'table-corrupt', { status: 500, code: 'corrupt' }],
    ['invalid', 'table-refused', { status: 500, code: 'internal', detail: 'something went wrong inside' }],
    ['not-found', 'object-not-found', { status: 500, code: 'internal' }],
  ] as const)('%s/%s', (kind, code, expected) => {
    expect(problemOf(new KelpError(kind, code, 'secret'))).toMatchObject(expected);
  });

  test('what is no error of ours says nothing', () => {
    for (const error of [new Error('secret'), new TypeError('secret'), 'secret', undefined]) {
      expect(JSON.stringify(problemOf(error))).not.toContain('secret');
    }
  });

  test('extra members never replace those of the standard', () => {
    const problem = problemOf(
      new KelpError('conflict', 'segment-sealed', 'sealed', { extra: { status: 200, code: 'fine', successors: [] } }),
    );
    expect(problem).toMatchObject({ status: 409, code: 'segment-sealed', successors: [] });
  });
});

test('a problem is at most 4 KiB and always JSON', () => {
  const text = fc.string({ unit: 'binary', maxLength: 6_000 });
  fc.assert(
    fc.property(text, text, fc.array(fc.string({ maxLength: 400 }), { maxLength: 20 }), (detail, field, list) => {
      const json = problemText(problemOf(new KelpError('conflict', 'segment-sealed', detail, { field, extra: { successors: list } })));
      expect(Buffer.byteLength(json)).toBeLessThanOrEqual(PROBLEM_BYTES_MAX);
      expect(JSON.parse(json)).toMatchObject({ code: 'segment-sealed', status: 409 });
    }),
  );
});

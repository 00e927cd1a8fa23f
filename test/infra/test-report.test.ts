import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readTestReport } from '../../infra/test-report.ts';

const GOOD = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, success: true };
let file: string;

beforeEach(() => (file = join(mkdtempSync(join(tmpdir(), 'kelp-report-')), 'tests.json')));
afterEach(() => rmSync(join(file, '..'), { recursive: true }));

function count(report: unknown, exitedWell = true): { passed: number; failed: number; problems: number } {
  writeFileSync(file, typeof report === 'string' ? report : JSON.stringify(report));
  const { passed, failed, problems } = readTestReport(file, exitedWell);
  return { passed, failed, problems: problems.length };
}

test('a good report has no problem', () => {
  expect(count(GOOD)).toEqual({ passed: 3, failed: 0, problems: 0 });
});

test('a failed test is counted once', () => {
  expect(count({ ...GOOD, numPassedTests: 2, numFailedTests: 1, success: false }, false)).toEqual({ passed: 2, failed: 1, problems: 0 });
});

test.each([
  ['no test', { ...GOOD, numPassedTests: 0 }, true],
  ['a skipped test', { ...GOOD, numPendingTests: 1 }, true],
  ['a test not written', { ...GOOD, numTodoTests: 1 }, true],
  ['an error outside the tests', { ...GOOD, success: false }, true],
  ['a bad exit', GOOD, false],
  ['a report cut short', '{"numPassedTests":3,', true],
  ['another report', { ok: true }, true],
])('%s is a problem', (_, report, exitedWell) => {
  expect(count(report, exitedWell).problems).toBe(1);
});

test('a missing report is a problem', () => {
  expect(readTestReport(file, true).problems).toHaveLength(1);
});

import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const Report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  success: z.boolean(),
});

export type TestCount = {
  readonly passed: number;
  readonly failed: number;
  /** What no failed test shows; each counts as a failure. */
  readonly problems: readonly string[];
};

/** Counts the tests of vitest's JSON report. `exitedWell` is what the runner's exit code said. */
export function readTestReport(file: string, exitedWell: boolean): TestCount {
  const report = existsSync(file) ? Report.safeParse(parse(readFileSync(file, 'utf8'))) : undefined;
  if (report?.data === undefined) return { passed: 0, failed: 0, problems: ['no readable report of the tests was written'] };
  const { numPassedTests: passed, numFailedTests: failed, numPendingTests, numTodoTests, success } = report.data;
  const skipped = numPendingTests + numTodoTests;
  const problems = [
    ...(passed + failed === 0 ? ['not a single test ran'] : []),
    ...(skipped > 0 ? [`${skipped} tests were skipped`] : []),
    // Such as an unhandled rejection, or a file that didn't load.
    ...(failed === 0 && !(success && exitedWell) ? ['the test run failed, though no test did'] : []),
  ];
  return { passed, failed, problems };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // cut short: as good as none
    throw error;
  }
}

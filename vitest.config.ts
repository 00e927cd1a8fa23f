import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests of these folders say that they run on real stores, and only they wait for them.
const REAL = ['test/integration/**/*.test.ts', 'test/conformance/**/*.test.ts'];

/** Files at a time: those of integration wait for processes and clocks for most of their time. */
const FILES_A_CORE = 2;

export default defineConfig({
  test: {
    maxWorkers: FILES_A_CORE * availableParallelism(),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A skipped or an empty test is not a passed one.
    allowOnly: false,
    expect: { requireAssertions: true, poll: { timeout: 10_000 } },
    passWithNoTests: false,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'json-summary'] },
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: REAL } },
      { extends: true, test: { name: 'integration', include: REAL, globalSetup: ['test/global-setup.ts'] } },
    ],
  },
});

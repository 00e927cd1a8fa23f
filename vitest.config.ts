import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests of these folders say that they run on real stores, and only they wait for them.
const REAL = ['test/integration/**/*.test.ts', 'test/conformance/**/*.test.ts'];

const CORES = availableParallelism();

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A skipped or an empty test is not a passed one.
    allowOnly: false,
    expect: { requireAssertions: true, poll: { timeout: 10_000 } },
    passWithNoTests: false,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'json-summary'] },
    projects: [
      {
        extends: true,
        // More files than cores at a time: most of what they do is waiting for processes and clocks. Not many more, since some go by clocks.
        test: {
          name: 'integration',
          include: REAL,
          globalSetup: ['test/global-setup.ts'],
          maxWorkers: Math.ceil(1.5 * CORES),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Not beside the others: these take all of a core.
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: REAL, maxWorkers: CORES, sequence: { groupOrder: 1 } },
      },
    ],
  },
});

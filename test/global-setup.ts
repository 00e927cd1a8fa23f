import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startSharedStack } from './own-stack.ts';

/** Starts the stores that integration tests share; vitest runs this only when a test of that project runs. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // More than half of a broker's start is compiling, which the next one finds done.
  const compiled = mkdtempSync(join(tmpdir(), 'kelp-compiled-'));
  process.env['NODE_COMPILE_CACHE'] = compiled;
  const shared = await startSharedStack();
  project.provide('stack', shared.stack);
  return async () => {
    await shared.stop();
    // What still ends may write once more.
    rmSync(compiled, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}

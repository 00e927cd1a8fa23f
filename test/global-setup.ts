import type { TestProject } from 'vitest/node';
import { startSharedStack } from './own-stack.ts';

/** Starts the stores that integration tests share; vitest runs this only when a test of that project runs. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = await startSharedStack();
  project.provide('stack', shared.stack);
  return () => shared.stop();
}

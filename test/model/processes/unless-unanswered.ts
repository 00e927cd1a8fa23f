import { isTransient } from '../../../src/state/ask-again.ts';

/** Undefined: somebody did not answer; whoever comes next looks again. */
export async function unlessUnanswered<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return undefined;
  }
}

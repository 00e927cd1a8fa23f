import { Worker } from 'node:worker_threads';
import type { Patch } from './patch-source.ts';
import type { Counts } from './search.ts';

/** One search: which scope, how large, and what is taken away. Plain data, for it goes to another thread. */
export type Job = {
  /** File below scopes, and the function in it that builds the scope from `size`. */
  readonly file: string;
  readonly scope: string;
  readonly size: Readonly<Record<string, number | boolean>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly patches: readonly Patch[];
  readonly statesMax: number;
  readonly kinds?: readonly string[];
};

/** `trace`: the way to the fault, if there is one, a line a step. */
export type Verdict = Counts & {
  readonly fault: string | undefined;
  readonly trace: readonly string[];
  readonly locals: number;
};

const OLD_SPACE_MB = 8_192;

/** Searches in a thread of its own. */
export function runJob(job: Job, progress?: (states: number, depth: number) => void): Promise<Verdict> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: OLD_SPACE_MB },
    // Those of the test runner are not for it.
    execArgv: [],
  });
  return new Promise((resolve, reject) => {
    let verdict: Verdict | undefined;
    worker.on(
      'message',
      (message: { readonly verdict?: Verdict; readonly progress?: { readonly states: number; readonly depth: number } }) => {
        if (message.progress !== undefined) progress?.(message.progress.states, message.progress.depth);
        verdict ??= message.verdict;
      },
    );
    worker.on('error', reject);
    worker.on('exit', () => {
      if (verdict === undefined) reject(new Error(`the search of ${job.scope} ended without a verdict`));
      else resolve(verdict);
    });
  });
}

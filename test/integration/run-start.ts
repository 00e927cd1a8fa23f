import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUN_MARK } from '../../infra/local/leftovers.ts';
import { processesMarked } from '../../infra/local/process-table.ts';
import { bareEnvironment } from './bare-environment.ts';

const ENTRY = join(import.meta.dirname, '..', '..', 'infra', 'local', 'start.ts');

export type Started = {
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
  /** What it has printed so far. */
  output(): string;
  /** The base URL, once it serves. Rejects with all output if it ends before. */
  ready(): Promise<string>;
  exited: Promise<{ readonly code: number | null; readonly output: string; readonly errors: string }>;
};

/** Runs what `npm start` runs, on this data folder and a free port, without the variables of the one who runs the tests. */
export function runStart(dir: string, environment: NodeJS.ProcessEnv = {}, args: readonly string[] = []): Started {
  const child = spawn(process.execPath, [ENTRY, ...args], {
    env: { ...bareEnvironment(), KELP_DATA: dir, KELP_PORT: '0', KELP_SWEEP_MS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  const exited = new Promise<Awaited<Started['exited']>>((resolve) => child.once('close', (code) => resolve({ code, output, errors })));
  const ready = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const url = /^ {2}address {5}(http:\S+)$/m.exec(output)?.[1];
        if (url !== undefined && output.includes('Ctrl-C ends it.')) resolve(url);
      };
      child.stdout.on('data', look);
      child.once('close', () => reject(new Error(`ended before it served: ${output}${errors}`)));
      look();
    });
  return { pid: child.pid ?? 0, signal: (name) => void child.kill(name), output: () => output, ready, exited };
}

/** Processes that belong to the data folder, except the start itself. */
export function childrenOf(dir: string): number[] {
  return processesMarked(RUN_MARK, dir);
}

/** Runs `use` with a data folder, and removes the folder. */
export async function withDataFolder(use: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-start-'));
  try {
    await use(dir);
  } finally {
    for (const pid of childrenOf(dir)) process.kill(pid, 'SIGKILL');
    // What still ends may write once more; and what the test found must not hide behind that.
    rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

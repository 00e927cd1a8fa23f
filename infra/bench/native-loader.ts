import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLoader, type Loader } from './load.ts';

const SOURCE = join(import.meta.dirname, 'native');
const BUILD_MS_MAX = 300_000;

/** Builds the native load generator into `dir`; undefined where this machine has no Go. */
export async function buildNativeLoader(dir: string, signal: AbortSignal): Promise<Loader | undefined> {
  const file = join(dir, 'native-load');
  const sources = readdirSync(SOURCE).filter((name) => name.endsWith('.go'));
  // Nothing but the standard library, so nothing to fetch.
  const env = { ...process.env, GO111MODULE: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '' };
  try {
    await promisify(execFile)('go', ['build', '-o', file, ...sources], { cwd: SOURCE, env, signal, timeout: BUILD_MS_MAX });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return createLoader('native', file, []);
}

export function createLeanLoader(): Loader {
  return createLoader('lean', process.execPath, [join(import.meta.dirname, 'lean-load.ts')]);
}

import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KelpError } from '../../src/model/errors.ts';
import { type Children, lastLogLine } from './processes.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The command `osls`, for `node`. */
export const OSLS = fileURLToPath(import.meta.resolve('osls/bin/serverless.js'));

export type Packaging = {
  readonly children: Children;
  /** Of serverless.yml. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/**
 * Bundles and packages the functions as `npm run package` does, with everything that comes of it below this folder, so that others
 * may do the same at the same time. Error `unavailable`/`not-packaged`.
 */
export async function packageFunctions(dir: string, { children, settings = {}, signal }: Packaging): Promise<void> {
  mkdirSync(dir, { recursive: true });
  cpSync(join(ROOT, 'serverless.yml'), join(dir, 'serverless.yml'));
  // What serverless.yml includes.
  cpSync(join(ROOT, 'infra'), join(dir, 'infra'), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  const build = { name: 'build', args: [join(ROOT, 'infra', 'build.ts'), join(dir, 'dist', 'functions')], cwd: ROOT };
  const given = Object.entries(settings).flatMap(([name, value]) => ['--param', `${name}=${value}`]);
  for (const step of [build, { name: 'package', args: [OSLS, 'package', ...given], cwd: dir }]) {
    signal.throwIfAborted();
    const child = await children.start({ ...step, file: process.execPath });
    const stop = (): void => void child.stop();
    signal.addEventListener('abort', stop);
    const { code } = await child.exited;
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
    if (code !== 0)
      throw new KelpError(
        'unavailable',
        'not-packaged',
        `the functions: ${step.name} failed: ${lastLogLine(child)} (see ${child.logFile})`,
      );
  }
}

import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeJoinEnvironment } from '../../../infra/local/join-environment.ts';
import type { LiveWorld } from './live-world.ts';

const README = join(import.meta.dirname, '..', '..', '..', 'README.md');
const RUN_MS = 60_000;
const run = promisify(execFile);

/** The last block of shell commands below that heading. */
export function readmeBlock(heading: string): string {
  const section =
    readFileSync(README, 'utf8')
      .split('\n## ')
      .find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const last = blocks.at(-1);
  if (last === undefined) throw new Error(`the README has no commands below "${heading}"`);
  return last;
}

/** A folder as one has it who has started Kelp there, and DuckDB with the extension that it would fetch. */
export async function prepareReadme(world: LiveWorld): Promise<void> {
  const { dir, modules, store } = world;
  mkdirSync(join(dir, '.kelp'));
  writeJoinEnvironment(join(dir, '.kelp'), {
    KELP_S3_ENDPOINT: store.endpoint,
    KELP_S3_ACCESS_KEY: store.accessKey,
    KELP_S3_SECRET_KEY: store.secretKey,
  });
  const extension = join(modules, 'duckdb_extension_httpfs', 'extensions', 'v1.5.5', 'httpfs.duckdb_extension');
  await runBlock(world, `python3 -c "import duckdb; duckdb.sql(\\"INSTALL '${extension}'\\")"`);
}

/** Runs it as it stands there, and answers what it prints. */
export async function runBlock({ dir, modules }: LiveWorld, block: string): Promise<string> {
  const { PATH = '', PYTHON } = process.env;
  const bin = join(dir, 'bin');
  mkdirSync(bin, { recursive: true });
  if (PYTHON !== undefined) {
    writeFileSync(join(bin, 'python3'), `#!/bin/sh\nexec '${PYTHON}' "$@"\n`);
    chmodSync(join(bin, 'python3'), 0o755);
  }
  const env = { PATH: `${bin}:${PATH}`, HOME: dir, PYTHONPATH: modules, PYTHONDONTWRITEBYTECODE: '1', TZ: 'Europe/Berlin' };
  const { stdout } = await run('sh', ['-ec', block], { cwd: dir, env, timeout: RUN_MS });
  return stdout;
}

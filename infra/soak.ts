import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { explainError } from '../src/cli/explain-error.ts';
import { parseOptions, type SoakOptions, USAGE } from './soak-options.ts';

// `npm run soak`: the test of the fleet under misfortunes, for minutes in place of seconds.
const ROOT = join(import.meta.dirname, '..');
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const TEST = 'test/integration/fleet/chaos.test.ts';
const SEED_BYTES = 4;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

async function soak({ runMs, seed = randomBytes(SEED_BYTES).toString('hex') }: SoakOptions): Promise<number> {
  console.log(`kelp: soaking for ${runMs / 60_000} min; again with: npm run soak -- --minutes ${runMs / 60_000} --seed ${seed}`);
  const child = spawn(process.execPath, [VITEST, 'run', TEST], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, KELP_TEST_SEED: seed, KELP_TEST_FLEET_MS: String(runMs) },
  });
  // Ctrl-C reaches the child as well, which cleans up; this one waits for it.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => void child.kill(name));
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? EXIT_FAILED;
}

let options: SoakOptions | undefined;
try {
  options = parseOptions(process.argv.slice(2), process.env);
} catch (error) {
  console.error(explainError(error));
  process.exit(EXIT_USAGE);
}
if (options === undefined) console.log(USAGE);
else process.exitCode = await soak(options);

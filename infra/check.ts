import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readTestReport } from './test-report.ts';

// `npm run check`: the tests as anybody runs them, then each check; the last line counts them all.
const REPORT = 'dist/tests.json';
/** The longest ones first: nobody waits for one of them alone. */
const CHECKS = ['package', 'lint', 'types', 'layers', 'unused', 'format:check', 'openapi:check'];
const AT_ONCE = 2;

type Result = { readonly name: string; readonly passed: boolean };

rmSync(REPORT, { force: true });
const names = process.argv.length > 2 ? process.argv.slice(2) : CHECKS;
const testsPassed = await run(
  'npm test',
  ['test', '--', '--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`],
  'inherit',
);
const results = await runChecks(names);
const tests = readTestReport(REPORT, testsPassed);
const failedChecks = results.filter(({ passed }) => !passed);
for (const problem of tests.problems) console.log(`FAIL ${problem}`);
const passed = tests.passed + results.length - failedChecks.length;
const failed = tests.failed + tests.problems.length + failedChecks.length;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

async function runChecks(queued: readonly string[]): Promise<Result[]> {
  const queue = [...queued];
  const done: Result[] = [];
  async function work(): Promise<void> {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      done.push({ name, passed: await run(name, ['run', '--silent', name], 'pipe') });
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return done;
}

/** Runs npm, shows one line, and the output of what failed. */
async function run(name: string, args: readonly string[], output: 'inherit' | 'pipe'): Promise<boolean> {
  const startMs = performance.now();
  const child = spawn('npm', args, { stdio: ['ignore', output, output] });
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - startMs) / 1000).toFixed(1)} s)`);
  if (code !== 0) process.stdout.write(Buffer.concat(chunks));
  return code === 0;
}

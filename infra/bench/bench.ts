import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, appendFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { explainError } from '../../src/cli/explain-error.ts';
import { KelpError } from '../../src/model/errors.ts';
import { judge } from './aims.ts';
import { buildNativeLoader, createLeanLoader } from './native-loader.ts';
import { type BenchOptions, parseOptions, USAGE } from './options.ts';
import { formatAims, formatTable } from './report.ts';
import type { Row } from './row.ts';
import { runCases } from './run-cases.ts';
import { startBenchStack } from './stack.ts';

// `npm run bench`: JSON lines as they come, a table at the end. Progress goes to standard error.
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const stopping = new AbortController();

function say(line: string): void {
  console.error(`[${(performance.now() / 1_000).toFixed(0)} s] ${line}`);
}

function createSink(out: string | undefined): (line: object) => void {
  if (out === undefined) return (line) => console.log(JSON.stringify(line));
  writeFileSync(out, '');
  return (line) => appendFileSync(out, `${JSON.stringify(line)}\n`);
}

async function main({ cases, seconds, instances, out }: BenchOptions): Promise<void> {
  const { signal } = stopping;
  const write = createSink(out);
  const dir = mkdtempSync(join(tmpdir(), 'kelp-bench-'));
  try {
    const lean = createLeanLoader();
    const native = await buildNativeLoader(dir, signal);
    if (native === undefined) say("no go on PATH: the raw speed and all loads are those of Kelp's own client");
    const stack = await startBenchStack({ dir, say, signal });
    try {
      write(describeRun(cases, seconds));
      const rows: Row[] = [];
      const record = (row: Row): void => {
        rows.push(row);
        write(row);
      };
      await runCases({ stack, loader: native ?? lean, lean, seconds, instances, dir, say, record, note: write, signal }, cases);
      const aims = judge(rows);
      aims.forEach(write);
      console.log(`\n${formatTable(rows)}\n\n${formatAims(aims)}`);
    } finally {
      await stack.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function describeRun(cases: readonly string[], seconds: number): object {
  const [processor] = cpus();
  return {
    kind: 'run',
    time: new Date().toISOString(),
    commit: findCommit(),
    cases,
    seconds,
    node: process.version,
    system: `${platform()} ${arch()}`,
    processor: processor?.model,
    cores: cpus().length,
    memoryBytes: totalmem(),
    // Others at work make every figure too low, and ratios unsteady.
    loadAverage: loadavg()[0],
  };
}

/** Undefined outside of a clone, or without git. */
function findCommit(): string | undefined {
  const { stdout, status } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => stopping.abort(new KelpError('unavailable', 'stopped', `stopped by ${name}`)));
}
try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) console.log(USAGE);
  else await main(options);
} catch (error) {
  console.error(explainError(stopping.signal.aborted ? stopping.signal.reason : error));
  process.exitCode = error instanceof KelpError && error.code === 'invalid-option' ? EXIT_USAGE : EXIT_FAILED;
}
process.exit();

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { explainError } from '../../src/cli/explain-error.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { Child } from '../local/processes.ts';
import { startKelp } from '../local/start-kelp.ts';
import { describeFindings } from './audit.ts';
import { loadFlights } from './flights.ts';
import { createKelpClient } from './kelp-client.ts';
import { type DemoOptions, parseOptions, USAGE } from './options.ts';
import { runDemo } from './run-demo.ts';
import { formatSummary } from './summary.ts';

// `npm run demo`: real flights through Kelp and back, checked.
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const stopping = new AbortController();

type Endpoint = { readonly url: string; readonly token: string; stop(): Promise<void> };

const nowMs = (): number => performance.now();

async function main(options: DemoOptions): Promise<number> {
  const { rows, segments } = options;
  const endpoint = await findEndpoint(options);
  try {
    const topic = `flights-${Date.now().toString(36)}`;
    const client = createKelpClient({ ...endpoint, topic, signal: stopping.signal });
    console.log(`publishing ${rows} flights to the topic ${topic} of ${segments} segments on ${endpoint.url}`);
    const run = { client, flights: loadFlights(rows), rows, segments, screen: process.stdout, nowMs, signal: stopping.signal };
    const { summary, findings } = await runDemo(run);
    console.log(`\n${formatSummary(summary)}\n`);
    if (findings.length > 0) throw new KelpError('corrupt', 'check-failed', `check failed: ${describeFindings(findings)}`);
    if (options.endpoint?.keep !== true) await client.deleteTopic();
    console.log('checked: nothing is lost, doubled, changed or out of order');
    return 0;
  } finally {
    await endpoint.stop();
  }
}

async function findEndpoint({ endpoint }: DemoOptions): Promise<Endpoint> {
  if (endpoint !== undefined) return { ...endpoint, stop: () => Promise.resolve() };
  const dataDir = mkdtempSync(join(tmpdir(), 'kelp-demo-'));
  const remove = (): void => rmSync(dataDir, { recursive: true, force: true });
  try {
    const kelp = await startKelp({ dataDir, environment: { KELP_PORT: '0' }, say: (line) => console.log(line), signal: stopping.signal });
    void stopWith(kelp.failed);
    const stop = async (): Promise<void> => {
      await kelp.stop();
      remove();
    };
    return { url: kelp.url, token: kelp.rootToken, stop };
  } catch (error) {
    remove();
    throw error;
  }
}

async function stopWith(failed: Promise<Child>): Promise<void> {
  const { name } = await failed;
  stopping.abort(new KelpError('unavailable', 'child-ended', `${name} has ended by itself`));
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => stopping.abort(new KelpError('unavailable', 'stopped', `stopped by ${name}`)));
}
try {
  const options = parseOptions(process.argv.slice(2), process.env);
  if (options === undefined) console.log(USAGE);
  else process.exitCode = await main(options);
} catch (error) {
  console.error(explainError(error));
  process.exitCode = error instanceof KelpError && error.code === 'invalid-option' ? EXIT_USAGE : EXIT_FAILED;
}
process.exit();

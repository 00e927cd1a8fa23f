import { join } from 'node:path';
import type { Configuration } from '../../src/cli/configuration.ts';
import { reachableUrl } from '../../src/cli/reachable-url.ts';
import type { Child, Children } from './processes.ts';
import { untilReady } from './until.ts';

const ENTRY = join(import.meta.dirname, '..', '..', 'src', 'cli', 'serve.ts');
/** Mebibytes. What publishes make is garbage at once: a larger young generation costs 100 MB and saves no work (measured). */
const YOUNG_GENERATION_MAX = 8;
const READY_MS = 30_000;

export type Broker = { readonly child: Child; readonly url: string };

export type BrokerOptions = {
  readonly configuration: Configuration;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly children: Children;
  readonly signal: AbortSignal;
};

/** Starts the broker as a process and resolves once it says that both stores can be written and read. */
export async function startBroker({ configuration, environment, children, signal }: BrokerOptions): Promise<Broker> {
  const url = reachableUrl(configuration.host, configuration.port);
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => /^(KELP|AWS|NODE|OTEL)_/.test(name)));
  const child = await children.start({
    name: 'broker',
    file: process.execPath,
    args: [`--max-semi-space-size=${YOUNG_GENERATION_MAX}`, ENTRY],
    env,
  });
  await untilReady({ what: 'the broker', waitMs: READY_MS, signal, child }, async (attempt) => {
    const answer = await fetch(`${url}/readyz`, { signal: attempt });
    if (!answer.ok) throw new Error(`readyz: ${answer.status} ${await answer.text()}`);
  });
  return { child, url };
}

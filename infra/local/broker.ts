import { join } from 'node:path';
import type { Configuration } from '../../src/cli/configuration.ts';
import { reachableUrl } from '../../src/cli/reachable-url.ts';
import { LEASE_RELEASE_MS_MAX, LEAVE_MS_MAX, STOP_CLOSE_MS_MAX, STOP_LINGER_MS, STOP_MS_MAX } from '../../src/model/limits.ts';
import type { Child, Children } from './processes.ts';
import { untilReady } from './until.ts';

const SERVE = join(import.meta.dirname, '..', '..', 'src', 'cli', 'serve.ts');
/** Mebibytes. What publishes make is garbage at once: a larger young generation costs 100 MB and saves no work (measured). */
const YOUNG_GENERATION_MAX = 8;
const READY_MS = 30_000;
const MARGIN_MS = 1_000;
/** A broker that leaves its segments to others ends by itself within this. */
export const LEAVING_STOP_MS = LEAVE_MS_MAX + LEASE_RELEASE_MS_MAX + STOP_LINGER_MS + STOP_MS_MAX + STOP_CLOSE_MS_MAX + MARGIN_MS;

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
  const child = await spawnBroker('broker', environment, children);
  await untilServing(url, child, signal);
  return { child, url };
}

/** Starts it and no more. `name` is that of its log file. */
export function spawnBroker(name: string, environment: BrokerOptions['environment'], children: Children): Promise<Child> {
  const env = Object.fromEntries(Object.entries(environment).filter(([variable]) => /^(KELP|AWS|NODE|OTEL)_/.test(variable)));
  return children.start({ name, file: process.execPath, args: [`--max-semi-space-size=${YOUNG_GENERATION_MAX}`, SERVE], env });
}

/** Resolves once it says that both stores can be written and read. Error `unavailable`/`not-ready`. */
export async function untilServing(url: string, child: Child, signal: AbortSignal): Promise<void> {
  const what = child.name === 'broker' ? 'the broker' : child.name;
  await untilReady({ what, waitMs: READY_MS, signal, child }, async (attempt) => {
    const answer = await fetch(`${url}/readyz`, { signal: attempt });
    if (!answer.ok) throw new Error(`readyz: ${answer.status} ${await answer.text()}`);
  });
}

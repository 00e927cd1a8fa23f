import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Configuration } from '../../src/cli/configuration.ts';
import { isEverywhere, reachableUrl } from '../../src/cli/reachable-url.ts';
import { KelpError } from '../../src/model/errors.ts';
import { createEntry } from './entry.ts';
import { type KeptBroker, keepBroker, type Keeping, type Place } from './keep-broker.ts';
import { type PortBlock, takePorts } from './ports.ts';
import type { Child } from './processes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Of a block of ports. */
const PORTS_AT_ONCE = 14;
const NAME_CHARACTERS = 6;

export type BrokersOptions = {
  readonly count: number;
  /** Of a broker, complete. */
  readonly environment: Environment;
  readonly configuration: Configuration;
  /** Begins their names; nobody else's may begin so. */
  readonly prefix: string;
  readonly keeping: Omit<Keeping, 'again' | 'rootToken'>;
};

export type Brokers = {
  /** Where clients go: the one broker, or the entry in front of them. */
  readonly url: string;
  readonly kept: readonly KeptBroker[];
  /** Resolves with one that ended by itself and isn't started again. */
  readonly failed: Promise<Child>;
  /** One after the other: each leaves, ends, and serves again before the next one begins. */
  restartEach(signal: AbortSignal): Promise<void>;
  /** `hurried`: all ends, so nobody hands anything over. */
  stop(options: { readonly hurried: boolean }): Promise<void>;
};

/** What one broker alone may be told, several can't share. Error `invalid`/`invalid-configuration`. */
export function checkShared(count: number, environment: Environment): void {
  const own = ['KELP_BROKER_ID', 'KELP_PUBLIC_URL'].filter((name) => count > 1 && environment[name]);
  const lines = own.map((name) => `${name} is one broker's own: it goes without --brokers`);
  if (lines.length > 0) throw new KelpError('invalid', 'invalid-configuration', lines.join('\n'));
}

/** `broker` where the table is ours alone; in somebody else's, other machines may have their brokers, too. */
export function namePrefix(ownTable: boolean, dir: string): string {
  if (ownTable) return 'broker';
  const hash = createHash('sha256').update(`${hostname()}\n${dir}`).digest('hex');
  return `broker-${hash.slice(0, NAME_CHARACTERS)}`;
}

/** One broker on the address itself; or several on ports of their own, and on the address an entry to them. */
export async function startBrokers(options: BrokersOptions): Promise<Brokers> {
  const { count, configuration, keeping } = options;
  const { host, port } = configuration;
  const ports = count === 1 ? [] : await takeManyPorts(count);
  const places = count === 1 ? [alone(options)] : Array.from({ length: count }, (_, n) => placeOf(n, portAt(ports, n), options));
  const addresses = places.map((_, n) => ({ host: loopbackOf(host), port: count === 1 ? port : portAt(ports, n) }));
  const entry = createEntry(addresses);
  const kept: KeptBroker[] = [];
  const stop = async (how: { readonly hurried: boolean }): Promise<void> => {
    await Promise.all(kept.map((broker) => broker.stop(how)));
    if (count > 1) await entry.close();
    for (const block of ports) block.release();
  };
  try {
    const kind = { ...keeping, again: count > 1, rootToken: configuration.rootToken };
    const started = await Promise.allSettled(places.map((place) => keepBroker(place, kind)));
    kept.push(...started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
    for (const result of started) if (result.status === 'rejected') throw result.reason;
    if (count > 1) await entry.listen(host, port);
  } catch (error) {
    await stop({ hurried: true });
    throw error;
  }
  const restartEach = async (signal: AbortSignal): Promise<void> => {
    for (const broker of kept) {
      keeping.say(`restarting ${broker.id}`);
      await broker.restart(signal);
    }
  };
  return { url: reachableUrl(host, port), kept, failed: Promise.race(kept.map(({ failed }) => failed)), restartEach, stop };
}

function alone({ environment, configuration, prefix }: BrokersOptions): Place {
  const id = environment['KELP_BROKER_ID'] ?? `${prefix}-1`;
  const url = reachableUrl(configuration.host, configuration.port);
  return { name: 'broker', id, url, environment: { ...environment, KELP_BROKER_ID: id } };
}

function placeOf(n: number, port: number, { environment, configuration, prefix }: BrokersOptions): Place {
  const id = `${prefix}-${n + 1}`;
  const own = { KELP_BROKER_ID: id, KELP_PORT: String(port) };
  return { name: `broker-${n + 1}`, id, url: reachableUrl(configuration.host, port), environment: { ...environment, ...own } };
}

/** Ports that stay theirs while a broker is started anew. */
function takeManyPorts(count: number): Promise<PortBlock[]> {
  const sizes = Array.from({ length: Math.ceil(count / PORTS_AT_ONCE) }, (_, n) => Math.min(PORTS_AT_ONCE, count - n * PORTS_AT_ONCE));
  return Promise.all(sizes.map(takePorts));
}

function portAt(blocks: readonly PortBlock[], n: number): number {
  const block = blocks[Math.floor(n / PORTS_AT_ONCE)];
  if (block === undefined) throw new Error(`no port for broker ${n + 1}`);
  return block.at(n % PORTS_AT_ONCE);
}

function loopbackOf(host: string): string {
  return isEverywhere(host) ? '127.0.0.1' : host;
}

import { Agent } from 'node:http';
import type { Finding } from '../checkers/history.ts';
import { call, type Reply } from '../clients/call.ts';
import { type CrewOptions, startCrew, type Crew } from '../clients/crew.ts';
import { freshTable, sharedStack, type StoreAddress, type TableAddress } from '../stack.ts';
import { audit } from './crash/audit.ts';
import { type BrokerProcess, createBrokerProcess } from './crash/broker-process.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { callerOf, ROOT_TOKEN } from './run-serve.ts';

/** A broker's process between a client and proxies that lose, hold and spoil what it sends to the shared stores. */
export type FaultyBroker = {
  readonly broker: BrokerProcess;
  readonly store: FaultProxy;
  readonly table: FaultProxy;
  /** The stores themselves. */
  readonly addresses: { readonly store: StoreAddress; readonly table: TableAddress };
  /** Makes it and gives its name. */
  topic(name: string, segments: number): Promise<string>;
  /** One attempt; the body is JSON. */
  publish(topic: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  crew(options: Omit<CrewOptions, 'token' | 'url'> & Partial<Pick<CrewOptions, 'url'>>): Promise<Crew>;
  /** Kill -9, and another one, which remembers nothing: the one that has stored an object doesn't have to read it. */
  restart(): Promise<void>;
  /** Ends all faults. */
  clear(): void;
  /** Everybody finishes; what is wrong then. */
  findings(topic: string, crew: Crew): Promise<readonly Finding[]>;
  close(): Promise<void>;
};

/** Longer than any deadline in these tests. */
const WAIT_MS = 60_000;

export async function startFaultyBroker(): Promise<FaultyBroker> {
  const addresses = { store: sharedStack().store, table: await freshTable('dynoxide', AbortSignal.timeout(30_000)) };
  const [store, table] = await Promise.all([startFaultProxy(addresses.store.endpoint), startFaultProxy(addresses.table.endpoint)]);
  const broker = await createBrokerProcess({
    store: { ...addresses.store, endpoint: store.url },
    table: { ...addresses.table, endpoint: table.url },
  });
  await broker.start();
  const agent = new Agent({ keepAlive: true });
  const ask = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Reply> => {
    const all = { authorization: `Bearer ${ROOT_TOKEN}`, ...headers };
    return call({ url: `${broker.url}/v1/${path}`, agent, method, headers: all, waitMs: WAIT_MS, ...(body === undefined ? {} : { body }) });
  };
  return {
    broker,
    store,
    table,
    addresses,
    async topic(name, segments) {
      const { status } = await callerOf(broker)('PUT', `/v1/topics/${name}`, { partitionKey: 'key', segments, replicas: 2 });
      if (status !== 201) throw new Error(`the topic ${name} was not made: ${status}`);
      return name;
    },
    publish: (topic, body, headers = {}) =>
      ask('POST', `topics/${topic}/messages`, { 'content-type': 'application/json', ...headers }, JSON.stringify(body)),
    get: (path, headers = {}) => ask('GET', path, headers),
    crew: (options) => startCrew({ url: () => broker.url, ...options, token: ROOT_TOKEN }),
    async restart() {
      await broker.kill();
      await broker.start();
    },
    clear() {
      store.clear();
      table.clear();
    },
    async findings(topic, crew) {
      const { publishes, reads } = await crew.finish();
      const { findings } = await audit({ addresses, broker, topic, publishes, reads });
      return findings;
    },
    async close() {
      agent.destroy();
      await broker.close();
      await Promise.all([store.close(), table.close()]);
    },
  };
}

/** The problem that a request was answered with. */
export function problemOf(reply: Reply): unknown {
  if (!reply.answered) throw reply.error;
  if (reply.headers['content-type'] !== 'application/problem+json') throw new Error(`no problem: ${reply.status} ${reply.text}`);
  return JSON.parse(reply.text);
}

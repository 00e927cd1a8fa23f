import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfiguration } from '../../src/cli/configuration.ts';
import { createHttpServer } from '../../src/cli/http-server.ts';
import { reachableUrl } from '../../src/cli/reachable-url.ts';
import { checkJoinEnvironment } from './join-environment.ts';
import { keepBroker } from './keep-broker.ts';
import { takePorts } from './ports.ts';
import { type Child, createChildren } from './processes.ts';

export type Joined = {
  readonly url: string;
  readonly id: string;
  /** Resolves when it has ended without being asked. */
  readonly failed: Promise<Child>;
  /** It hands over what it has, and ends. */
  stop(): Promise<void>;
};

export type JoinOptions = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

/** One more broker, for stores and brokers that run already: everything comes by environment. Its log is in a temporary folder, which stays if it failed. */
export async function joinKelp({ environment, say, signal }: JoinOptions): Promise<Joined> {
  checkJoinEnvironment(environment);
  const ports = await takePorts(1);
  const anyPort = !environment['KELP_PORT'] || environment['KELP_PORT'] === '0';
  const complete = { ...environment, ...(anyPort ? { KELP_PORT: String(ports.at(0)) } : {}) };
  const configuration = readConfiguration(complete);
  const { host, port, rootToken } = configuration;
  const { id } = configuration.broker;
  const probe = createHttpServer(() => new Response());
  await probe.listen(host, port);
  await probe.close();
  const children = createChildren(mkdtempSync(join(tmpdir(), 'kelp-join-')));
  const end = async ({ failed }: { readonly failed: boolean }): Promise<void> => {
    await children.stopAll();
    ports.release();
    if (!failed) rmSync(children.dir, { recursive: true, force: true });
  };
  try {
    const place = { name: 'broker', id, url: reachableUrl(host, port), environment: { ...complete, KELP_BROKER_ID: id } };
    const broker = await keepBroker(place, { children, say, again: false, rootToken, signal });
    let failed = false;
    void broker.failed.then(() => (failed = true));
    const stop = async (): Promise<void> => {
      await broker.stop({ hurried: false });
      await end({ failed });
    };
    return { url: broker.url, id, failed: broker.failed, stop };
  } catch (error) {
    await end({ failed: !signal.aborted });
    throw error;
  }
}

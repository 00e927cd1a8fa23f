import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createChildren } from '../../../infra/local/processes.ts';
import { CACHE_DIR, findDataReaders } from '../../../infra/local/tools.ts';
import { freshTable, sharedStack, type StoreAddress } from '../../stack.ts';
import { callerOf, ROOT_TOKEN, runServe, type Served } from '../run-serve.ts';
import { type LiveReader, type ReaderName, READERS, startReader } from './live-readers.ts';
import { type LiveTopic, liveTopic } from './live-topic.ts';

export const STEP_MS = 180_000;
const BERLIN = { TZ: 'Europe/Berlin' };
const ARCHIVING = { ...BERLIN, KELP_ARCHIVE_MS: '1000', KELP_ARCHIVE_AGE_MS: '0' };

/** A broker that doesn't archive, and three programs that read the bucket; all of them on a machine in Berlin. */
export type LiveWorld = {
  readonly url: string;
  readonly store: StoreAddress;
  /** A folder of its own, and that of the readers' modules. */
  readonly dir: string;
  readonly modules: string;
  readonly call: ReturnType<typeof callerOf>;
  /** A topic with keys. */
  make(name: string, settings?: object): Promise<LiveTopic>;
  /** `body`: the value, as it stands there. */
  publish(name: string, message: { readonly key: string; readonly timestampMs: number; readonly body: string }): Promise<void>;
  reader(name: ReaderName): LiveReader;
  /** Starts one more broker, which archives at once what is committed. `stop` ends it, as the end of the world does. */
  startArchiving(): Promise<{ stop(): Promise<void> }>;
  stop(): Promise<void>;
};

/** The readers are fetched on first use. */
export async function startWorld(signal: AbortSignal): Promise<LiveWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-live-'));
  const { store } = sharedStack();
  const modules = await findDataReaders({ cacheDir: CACHE_DIR, children: createChildren(dir), say: console.error, signal });
  const table = await freshTable('dynoxide', signal);
  const broker = await runServe({ store, table, environment: BERLIN });
  const readers = new Map(READERS.map((name) => [name, startReader(name, store, { modules, home: dir })]));
  const running = [broker];
  const call = callerOf(broker);
  return {
    url: broker.url,
    store,
    dir,
    modules,
    call,
    async make(name, settings = {}) {
      expect((await call('PUT', `/v1/topics/${name}`, { partitionKey: 'key', ...settings })).status).toBe(201);
      return liveTopic(call, store, name);
    },
    async publish(name, { key, timestampMs, body }) {
      const headers = { authorization: `Bearer ${ROOT_TOKEN}`, 'content-type': 'application/json' };
      const text = `{"messages":[{"key":"${key}","timestamp":${timestampMs},"value":${body}}]}`;
      expect((await fetch(`${broker.url}/v1/topics/${name}/messages`, { method: 'POST', headers, body: text })).status).toBe(200);
    },
    reader: (name) => readers.get(name) ?? expect.unreachable(`${name} runs`),
    async startArchiving() {
      const archiver = await runServe({ store, table, environment: ARCHIVING });
      running.push(archiver);
      return { stop: () => stopServed(archiver) };
    },
    async stop() {
      for (const reader of readers.values()) reader.stop();
      await Promise.all(running.map(stopServed));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function stopServed(served: Served): Promise<void> {
  served.signal('SIGTERM');
  await served.exited;
}

/** Until so many messages of a topic are archived. */
export const untilArchived = (topic: LiveTopic, messages: number): Promise<void> =>
  expect.poll(() => topic.archived(), { timeout: STEP_MS, interval: 200 }).toBe(messages);

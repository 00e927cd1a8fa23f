import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { createLeanTable } from '../../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { brokerKey, leaseKey } from '../../../src/format/item-key.ts';
import type { FunctionHandler } from '../../../src/http/function-handler.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import { TENANT_DEFAULT } from '../../../src/model/topic.ts';
import type { Item, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { contextOf, eventOf } from '../../http/function-events.ts';
import { freshTable, sharedStack, type StoreAddress, type TableAddress } from '../../stack.ts';
import { type BuiltFunctions, functionVariables } from '../built-functions.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { type FunctionProcess, type Invoked, startFunction } from './function-process.ts';

const TABLE_MS = 60_000;
export const PATH = '/v1/topics/t';
const headers = { authorization: `Bearer ${ROOT_TOKEN}`, 'content-type': 'application/json' };

export const asking = (method: string, path: string, body?: unknown): APIGatewayProxyEventV2 =>
  eventOf(method, path, { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });

export const publishing = (text: string, key = 'a'): APIGatewayProxyEventV2 =>
  eventOf('POST', `${PATH}/message?key=${key}`, { headers: { ...headers, 'content-type': 'text/plain' }, body: text });

export const splitting = (segment: string, at: number): APIGatewayProxyEventV2 =>
  asking('POST', `${PATH}/segments/${segment}/split`, { at });

export type Answered = { readonly status: number | undefined; readonly body: Readonly<Record<string, unknown>> };

export const answerOf = (result: Invoked['result']): Answered => ({
  status: result?.statusCode,
  body: JSON.parse(result?.body || '{}') as Record<string, unknown>,
});

export type Endpoints = { readonly store?: string; readonly table?: string };

/** Instances of functions in processes of their own, on a table of their own, and an API that nothing happens to. */
export type FunctionWorld = {
  readonly store: StoreAddress;
  readonly table: TableAddress;
  /** `endpoints`: what stands before the stores. `more`: of its environment. */
  start(name: string, endpoints?: Endpoints, more?: Readonly<Record<string, string>>): Promise<FunctionProcess>;
  /** By an instance in this process. */
  ask(event: APIGatewayProxyEventV2): Promise<Answered>;
  /** All messages of the topic, as texts. */
  texts(): Promise<string[]>;
  /** Who leads; empty: nobody. */
  holder(): Promise<string>;
  /** The item of the fleet. */
  fleet(): Promise<Item | undefined>;
  /** As a leader that takes it for dead. */
  deleteFleet(): Promise<void>;
  /** What is stored of the topic and its first segments, but for the history of what was done. */
  stored(): Promise<readonly Item[]>;
  end(): void;
};

const FLEET = brokerKey(TENANT_DEFAULT, 'fleet' as BrokerId);
const SEGMENTS = 10;
const PAGES_MAX = 20;

export async function createFunctionWorld(built: BuiltFunctions): Promise<FunctionWorld> {
  const store = sharedStack().store;
  const address = await freshTable('dynoxide', AbortSignal.timeout(TABLE_MS));
  const table = createLeanTable({ ...address, clock: createSystemClock() });
  const api: FunctionHandler = await built.api(store, address);
  const dir = mkdtempSync(join(tmpdir(), 'kelp-functions-'));
  const processes: FunctionProcess[] = [];
  const { signal } = new AbortController();
  const ask = async (event: APIGatewayProxyEventV2): Promise<Answered> => answerOf(await api(event, contextOf()));
  return {
    store,
    table: address,
    ask,
    async start(name, endpoints = {}, more = {}) {
      const environment = functionVariables(
        { ...store, endpoint: endpoints.store ?? store.endpoint },
        { ...address, endpoint: endpoints.table ?? address.endpoint },
      );
      const started = await startFunction({ file: built.file(name), environment: { ...environment, ...more }, dir });
      processes.push(started);
      return started;
    },
    async texts() {
      const texts: string[] = [];
      let cursor = 'earliest';
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const { body } = await ask(asking('GET', `${PATH}/messages?cursor=${cursor}`));
        const messages = body['messages'] as { text: string }[];
        if (messages.length === 0) return texts;
        texts.push(...messages.map(({ text }) => text));
        cursor = String(body['cursor']);
      }
      throw new Error('there is no end of messages');
    },
    holder: async () => String((await table.get(leaseKey(), signal))?.['holder'] ?? ''),
    fleet: () => table.get(FLEET, signal),
    deleteFleet: async () => void (await table.delete(FLEET, [], signal)),
    stored: () => storedOf(table, signal),
    end() {
      for (const started of processes) started.signal('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function storedOf(table: MetadataTable, signal: AbortSignal): Promise<readonly Item[]> {
  const all = async (pk: string): Promise<readonly Item[]> => (await table.query({ pk, limit: 100 }, signal)).items;
  const names = await all('n#main');
  const partitions = names.flatMap(({ topic }) => {
    const heads = Array.from({ length: SEGMENTS }, (_, n) => `h#${String(topic)}#s000000${n}`);
    return [`t#${String(topic)}`, `s#${String(topic)}`, ...heads];
  });
  const items = (await Promise.all(partitions.map(all))).flat();
  return [...names, ...items.filter(({ sk }) => sk !== 'scaling')];
}

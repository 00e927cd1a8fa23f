import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding } from '../demo/audit.ts';
import { createKelpClient, type KelpClient } from '../demo/kelp-client.ts';
import { readBack } from '../demo/read-back.ts';
import { messagesOf, type Phase, type Publish, wallMs, type Writing, writeFlood } from './flood-writers.ts';
import type { FunctionFleet } from './function-fleet.ts';
import { createTolerantAudit } from './tolerant-audit.ts';

/** So many instances, each of which is asked for one message at a time. */
export type Load = { readonly instances: number; readonly seconds: number; readonly perSecond: number };
export type FunctionLoad = {
  /** By instances that are warm; then the others take over, all of which are cold. */
  readonly calm: Load;
  readonly flood: Load;
  /** How long after the end of an event of the schedule the next one comes. */
  readonly rebalanceMs: number;
};

export type FunctionLoadDeps = {
  readonly fleet: Pick<FunctionFleet, 'broker' | 'read' | 'rebalance'>;
  readonly token: string;
  readonly topic: string;
  readonly signal: AbortSignal;
};

export type FunctionRun = {
  readonly phases: readonly Phase[];
  readonly beginMs: number;
  readonly published: readonly Publish[];
  /** What is wrong with what is read back; a message of which nobody knew whether it was stored may be there or not. */
  readonly findings: readonly Finding[];
  /** Starts of the rebalancer, and those that failed. */
  readonly rebalanced: { readonly done: number; readonly failed: readonly string[] };
};

const SECOND_MS = 1_000;
const WARM_UP: Phase = { name: 'before', seconds: 2, perSecond: 8 };

/** Warm instances in calm, then cold ones in a flood; at the end all is read back. */
export async function runFunctionLoad(deps: FunctionLoadDeps, { calm, flood, rebalanceMs }: FunctionLoad): Promise<FunctionRun> {
  const clients = (first: number, { instances }: Load) =>
    Array.from({ length: instances }, (_, n) => clientOf(deps, deps.fleet.broker(first + n)));
  const [warm, cold] = [clients(flood.instances, calm), clients(0, flood)];
  const phases: Phase[] = [
    { ...calm, name: 'before' },
    { ...flood, name: 'during' },
  ];
  const audit = createTolerantAudit(messagesOf([WARM_UP, ...phases]));
  const write = (writing: Pick<Writing, 'clients' | 'phases' | 'beginMs' | 'firstRow'>): Promise<Publish[]> =>
    writeFlood({ ...writing, writers: writing.clients.length, audit, signal: deps.signal });
  const rebalancing = repeat(deps, rebalanceMs);
  try {
    const firstRow = messagesOf([WARM_UP]);
    await write({ clients: warm, phases: [WARM_UP], beginMs: wallMs(), firstRow: 0 });
    const beginMs = wallMs() + SECOND_MS;
    const floodMs = beginMs + calm.seconds * SECOND_MS;
    const published = await Promise.all([
      write({ clients: warm, phases: phases.slice(0, 1), beginMs, firstRow }),
      write({ clients: cold, phases: phases.slice(1), beginMs: floodMs, firstRow: firstRow + messagesOf(phases.slice(0, 1)) }),
    ]);
    await readBack({
      client: clientOf(deps, deps.fleet.read),
      rowsMax: messagesOf([WARM_UP, ...phases]),
      onMessage: audit.read,
      onProgress: () => undefined,
    });
    return { phases, beginMs, published: published.flat(), findings: audit.findings(), rebalanced: await rebalancing.stop() };
  } finally {
    await rebalancing.stop();
  }
}

const clientOf = ({ token, topic, signal }: FunctionLoadDeps, url: string): KelpClient => createKelpClient({ url, token, topic, signal });

type Repeated = { stop(): Promise<FunctionRun['rebalanced']> };

/** One event of the schedule after the other. */
function repeat({ fleet, signal }: FunctionLoadDeps, everyMs: number): Repeated {
  const stopping = new AbortController();
  const ends = AbortSignal.any([stopping.signal, signal]);
  const failed: string[] = [];
  let done = 0;
  async function run(): Promise<void> {
    while (!ends.aborted) {
      await sleep(everyMs, undefined, { signal: ends }).catch(() => undefined); // woken to end, which the loop sees
      if (ends.aborted) return;
      try {
        await fleet.rebalance();
        done += 1;
      } catch (error) {
        failed.push((error as Error).message);
      }
    }
  }
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
      return { done, failed };
    },
  };
}

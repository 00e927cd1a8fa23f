import { join } from 'node:path';
import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { ARCHIVE_HEAP_MB_MAX, ARCHIVE_YOUNG_HEAP_MB_MAX } from '../../src/model/archive-limits.ts';
import { KelpError } from '../../src/model/errors.ts';
import { LEAVING_STOP_MS, spawnBroker, untilServing } from '../local/broker.ts';
import { takePorts } from '../local/ports.ts';
import { type ArchiveLoad, createLoader, type Loader } from './load.ts';
import type { Bench } from './measure.ts';
import { storeVariables } from './stack.ts';

const TABLE = 'kelp-archive';
const PROCESS = join(import.meta.dirname, 'archive-process.ts');
/** What a broker's archiver has. A young generation is three of these. */
const HEAP = [`--max-old-space-size=${ARCHIVE_HEAP_MB_MAX}`, `--max-semi-space-size=${ARCHIVE_YOUNG_HEAP_MB_MAX / 3}`];
const SWEEP_MS_MAX = 60_000;
const SWEEPS_MAX = 20;

/** A table of its own beside the same stores, since all that is in it is archived, and a broker that archives nothing by itself. */
export type ArchiveStack = {
  /** With that broker as the one. */
  readonly bench: Bench;
  readonly archiver: { readonly loader: Loader; readonly load: ArchiveLoad };
  /** Deletes what files stand for: readers find messages where they were for as long as they are there. */
  sweep(): Promise<void>;
  /** The same with another process as the broker, which has read nothing yet. */
  restarted(): Promise<ArchiveStack>;
};

export async function startArchiveStack(bench: Bench): Promise<ArchiveStack> {
  const { stack, signal } = bench;
  await createTable({ ...stack.table, table: TABLE }, createSystemClock(), signal);
  const ports = await takePorts(1);
  return startOn(bench, ports.at(0));
}

async function startOn(bench: Bench, port: number): Promise<ArchiveStack> {
  const { stack, signal } = bench;
  const stores = { ...storeVariables(stack), KELP_TABLE: TABLE, KELP_TABLE_ENDPOINT: stack.table.endpoint };
  const environment = {
    ...stores,
    KELP_PORT: String(port),
    KELP_BROKER_ID: 'archive',
    KELP_ROOT_TOKEN: stack.token,
    KELP_SECRET: stack.token,
    KELP_SWEEP_MS: '0',
    KELP_ARCHIVE_MS: '0',
    KELP_GARBAGE_AGE_MS: '0',
  };
  const url = `http://127.0.0.1:${port}`;
  const broker = await spawnBroker('archive', environment, stack.all);
  await untilServing(url, broker, signal);
  return {
    bench: { ...bench, stack: { ...stack, url, children: { ...stack.children, broker } } },
    archiver: {
      loader: createLoader('archiver', process.execPath, [...HEAP, PROCESS]),
      load: { mode: 'archive', environment: { ...stores, KELP_ARCHIVE_AGE_MS: '0' } },
    },
    async sweep() {
      bench.say('deleting what is in files');
      for (let sweeps = 0; sweeps < SWEEPS_MAX; sweeps += 1) {
        const { complete } = await sweepOnce(url, stack.token, false, signal);
        if (complete && (await sweepOnce(url, stack.token, true, signal)).garbage.pages === 0) return;
      }
      throw new KelpError('unavailable', 'sweep-incomplete', 'index pages of what is archived are left');
    },
    async restarted() {
      await broker.stop(LEAVING_STOP_MS);
      return startOn(bench, port);
    },
  };
}

type Swept = { readonly complete: boolean; readonly garbage: { readonly pages: number } };

async function sweepOnce(url: string, token: string, dryRun: boolean, signal: AbortSignal): Promise<Swept> {
  const bounds = AbortSignal.any([signal, AbortSignal.timeout(SWEEP_MS_MAX)]);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/sweep`, { method: 'POST', headers, body: JSON.stringify({ dryRun }), signal: bounds });
  if (!answer.ok) throw new KelpError('unavailable', 'sweep-failed', `sweep: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Swept;
}

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type PortBlock, takePorts } from '../local/ports.ts';
import { type Child, type Children, lastLogLine } from '../local/processes.ts';
import { untilReady } from '../local/until.ts';
import { groupCpuSeconds } from './process-usage.ts';

const HOST = join(import.meta.dirname, 'function-host.ts');
const BUILD = join(import.meta.dirname, '..', 'build.ts');
const ROOT = join(import.meta.dirname, '..', '..');
const READY_MS = 60_000;
const BLOCK_PORTS_MAX = 15;

export type FunctionFleetOptions = {
  /** For the bundles. */
  readonly dir: string;
  readonly children: Children;
  /** Of all functions, but for the stack's address. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of the broker. */
  readonly instances: number;
  /** How many of them share a process. */
  readonly perProcess: number;
  readonly signal: AbortSignal;
};

/** The packaged functions, each instance of which waits in a process to be loaded at its first request, and has one at a time. */
export type FunctionFleet = {
  readonly processes: number;
  /** Of that instance of the broker. */
  broker(instance: number): string;
  readonly read: string;
  readonly leader: string;
  /** One event of the schedule. Rejects where the function fails. */
  rebalance(): Promise<void>;
  /** Processor time of all of them so far; undefined where nothing is known of it. */
  cpuSeconds(): number | undefined;
  stop(): Promise<void>;
};

/** One process more has the stack's address, and an instance of each of the others. Error `unavailable`/`not-ready`. */
export async function startFunctionFleet(options: FunctionFleetOptions): Promise<FunctionFleet> {
  const { dir, children, environment, instances, perProcess, signal } = options;
  const folder = join(dir, 'functions');
  await promisify(execFile)(process.execPath, [BUILD, folder], { cwd: ROOT, signal });
  const processes = 1 + Math.ceil(instances / perProcess);
  const ports = await takeMany(processes);
  const urls = ports.numbers.map((port) => `http://127.0.0.1:${port}`);
  const [address = ''] = urls;
  const env = { ...environment, KELP_PUBLIC_URL: address };
  const started = await Promise.all(
    ports.numbers.map(async (port, n) => {
      const child = await children.start({ name: `functions-${n}`, file: process.execPath, args: [HOST, String(port), folder], env });
      await untilListening(port, child, signal);
      return child;
    }),
  );
  return {
    processes,
    broker: (instance) => `${urls[1 + Math.floor(instance / perProcess)]}/broker/${instance}`,
    read: `${address}/read/0`,
    leader: `${address}/leader/0`,
    async rebalance() {
      const answer = await fetch(`${address}/rebalance/0`, { method: 'POST', signal });
      await answer.text();
      if (!answer.ok) throw new Error(`a start of the rebalancer failed: ${lastLogLine(started[0] as Child)}`);
    },
    cpuSeconds() {
      const known = started.flatMap(({ pid }) => groupCpuSeconds(pid) ?? []);
      return known.length === 0 ? undefined : known.reduce((sum, seconds) => sum + seconds, 0);
    },
    async stop() {
      await Promise.all(started.map((child) => child.stop()));
      ports.release();
    },
  };
}

/** A request would load something. */
async function untilListening(port: number, child: Child, signal: AbortSignal): Promise<void> {
  await untilReady({ what: child.name, waitMs: READY_MS, signal, child }, async (attempt) => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect', { signal: attempt });
    } finally {
      socket.destroy();
    }
  });
}

async function takeMany(count: number): Promise<{ readonly numbers: readonly number[]; release(): void }> {
  const blocks: PortBlock[] = [];
  for (let left = count; left > 0; left -= BLOCK_PORTS_MAX) blocks.push(await takePorts(Math.min(left, BLOCK_PORTS_MAX)));
  return {
    numbers: Array.from({ length: count }, (_, n) => (blocks[Math.floor(n / BLOCK_PORTS_MAX)] as PortBlock).at(n % BLOCK_PORTS_MAX)),
    release: () => blocks.forEach((block) => block.release()),
  };
}

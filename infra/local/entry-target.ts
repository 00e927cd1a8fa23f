import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A broker behind the entry. */
export type Address = { readonly host: string; readonly port: number };

/**
 * `ready`: takes new connections. `gone`: nobody listens, as far as is known; asking costs nothing. `unready`: it answers and
 * says that it is not ready: it stops, or a store does not answer. `silent`: it is there and does not answer.
 */
export type Health = 'ready' | 'gone' | 'unready' | 'silent';

export type Target = {
  readonly address: Address;
  health: Health;
  /** Ours to it, each of which belongs to one client. */
  readonly connections: Set<Socket>;
  /** Counts choices: of equals, the one that was chosen longest ago is next. */
  chosen: number;
};

export type HealthTimes = {
  /** Pause between two checks of one broker. */
  readonly checkMs: number;
  /** A sign of life that takes longer, twice in a row, has stopped coming: far more than a busy broker's, less than a client's patience. */
  readonly silentMs: number;
  /** How long readiness may take: it waits for the stores. */
  readonly readyMs: number;
};
export const HEALTH_TIMES: HealthTimes = { checkMs: 500, silentMs: 1_000, readyMs: 3_000 };

const RANK: Readonly<Record<Health, number>> = { ready: 0, gone: 1, unready: 2, silent: 3 };

export const createTarget = (address: Address): Target => ({ address, health: 'gone', connections: new Set(), chosen: 0 });

/** Those that a new connection may go to, best first: by health, then by how many connections they have. */
export function candidates(targets: readonly Target[]): Target[] {
  return targets
    .filter(({ health }) => health !== 'silent')
    .toSorted((a, b) => RANK[a.health] - RANK[b.health] || a.connections.size - b.connections.size || a.chosen - b.chosen);
}

/** Checks a broker until the signal aborts. One that has fallen silent loses its connections: its clients can ask another one. */
export async function watch(target: Target, times: HealthTimes, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const health = await check(target.address, times);
    target.health = health;
    if (health === 'silent') for (const connection of target.connections) connection.destroy();
    await pause(times.checkMs, signal);
  }
}

async function check(address: Address, times: HealthTimes): Promise<Health> {
  let life = await ask(address, '/livez', times.silentMs);
  // It may be us who stood still, and then its answer was only read too late.
  if (life === 'late') life = await ask(address, '/livez', times.silentMs);
  if (life === 'late') return 'silent';
  if (life === 'refused') return 'gone';
  return (await ask(address, '/readyz', times.readyMs)) === 200 ? 'ready' : 'unready';
}

/** The answer's status. */
async function ask({ host, port }: Address, path: string, waitMs: number): Promise<number | 'late' | 'refused'> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(waitMs) });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? 'late' : 'refused';
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal, ref: false });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

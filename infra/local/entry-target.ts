import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A broker behind the entry. */
export type Address = { readonly host: string; readonly port: number };

/**
 * `ready`: takes new connections. `gone`: nobody listens, as far as is known; asking costs nothing. `leaving`: it answers, and
 * says that it was told to stop. `silent`: it is there and does not answer.
 */
export type Health = 'ready' | 'gone' | 'leaving' | 'silent';

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
};
export const HEALTH_TIMES: HealthTimes = { checkMs: 500, silentMs: 1_000 };

const RANK: Readonly<Record<Health, number>> = { ready: 0, gone: 1, leaving: 2, silent: 3 };

export const createTarget = (address: Address): Target => ({ address, health: 'gone', connections: new Set(), chosen: 0 });

/**
 * Where a new connection may go, best first: by health, then by how many connections they have. One that was silent last is
 * better than nobody: it may be awake by now, and if it isn't, its connections end with the next check.
 */
export function candidates(targets: readonly Target[]): Target[] {
  return targets.toSorted((a, b) => RANK[a.health] - RANK[b.health] || a.connections.size - b.connections.size || a.chosen - b.chosen);
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

/** By its sign of life alone: readiness asks the stores, which have enough to do, and are the same for all. */
async function check(address: Address, times: HealthTimes): Promise<Health> {
  const first = await ask(address, times.silentMs);
  // It may be us who stood still, and then its answer was only read too late.
  return first === 'silent' ? ask(address, times.silentMs) : first;
}

async function ask({ host, port }: Address, waitMs: number): Promise<Health> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(waitMs) });
    return /"leaving"/.test(await answer.text()) ? 'leaving' : 'ready';
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? 'silent' : 'gone';
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal, ref: false });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

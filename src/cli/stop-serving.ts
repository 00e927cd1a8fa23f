import { setTimeout as sleep } from 'node:timers/promises';
import { LEAVE_MS_MAX, STOP_LINGER_MS, STOP_MS_MAX } from '../model/limits.ts';
import type { Broker } from './broker.ts';
import type { HttpServer } from './http-server.ts';

export type Serving = {
  readonly broker: Pick<Broker, 'leave' | 'stop'>;
  readonly server: Pick<HttpServer, 'drain' | 'close'>;
  /** Takes a line about what did not end well. */
  readonly write: (line: string) => void;
};

/**
 * Ends a broker's process: hands its segments to others and serves on meanwhile, then finishes what is in flight. `hurry` ends
 * the first part. Answers the exit code. Bounded by LEAVE_MS_MAX, LEASE_RELEASE_MS_MAX, STOP_LINGER_MS, STOP_MS_MAX and
 * STOP_CLOSE_MS_MAX.
 */
export async function stopServing(serving: Serving, hurry: AbortSignal): Promise<number> {
  const { broker, server, write } = serving;
  // Still listening: a publish is answered, at the end with 503 and where it stands, where a closed port would tell nothing.
  server.drain();
  if (await leave(serving, hurry)) await linger(hurry);
  let code = 0;
  try {
    await broker.stop(AbortSignal.timeout(STOP_MS_MAX));
  } catch (error) {
    write(`kelp: stopping before all work has ended: ${String(error)}`);
    code = 1;
  }
  await server.close();
  return code;
}

/** What it can't hand over is taken from it once it is gone: no reason to stay, or to end with an error. */
async function leave({ broker, write }: Serving, hurry: AbortSignal): Promise<boolean> {
  try {
    return await broker.leave(AbortSignal.any([hurry, AbortSignal.timeout(LEAVE_MS_MAX)]));
  } catch (error) {
    if (!hurry.aborted) write(`kelp: stopping before its segments are with other brokers: ${String(error)}`);
    return false;
  }
}

async function linger(hurry: AbortSignal): Promise<void> {
  try {
    await sleep(STOP_LINGER_MS, undefined, { signal: hurry });
  } catch (error) {
    if (!hurry.aborted) throw error;
  }
}

import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { KelpError } from '../../src/model/errors.ts';
import { processesMarked, startTimeOf } from './process-table.ts';

/** In the environment of every child: the folder that it belongs to. */
export const RUN_MARK = 'KELP_RUN';
export const PID_FILE = 'pids.json';

const Entries = z.array(z.object({ name: z.string(), pid: z.int().min(2), startTime: z.string() }));

const TERM_MS = 5_000;
const KILL_MS = 5_000;
const POLL_MS = 50;

/**
 * Processes that an earlier run in this folder left behind: those of its list that are still the same ones (a pid may have
 * been given to a stranger since), and those that carry the folder's mark.
 */
export function findLeftovers(folder: string): number[] {
  if (!existsSync(folder)) return [];
  const dir = realpathSync(folder);
  const listed = readList(join(dir, PID_FILE)).filter(({ pid, startTime }) => startTimeOf(pid) === startTime);
  const marked = processesMarked(RUN_MARK, dir).filter((pid) => startTimeOf(pid) !== undefined);
  const pids = new Set([...listed.map(({ pid }) => pid), ...marked]);
  pids.delete(process.pid);
  return [...pids];
}

/** Ends them and answers how many there were: SIGTERM, SIGKILL for those that are still there after five seconds. */
export async function endLeftovers(folder: string, signal: AbortSignal): Promise<number> {
  const found = findLeftovers(folder);
  if (found.length > 0) {
    signalEach(found, 'SIGTERM');
    if (!(await goneWithin(folder, TERM_MS, signal))) signalEach(findLeftovers(folder), 'SIGKILL');
    if (!(await goneWithin(folder, KILL_MS, signal))) {
      const left = findLeftovers(folder).join(' ');
      throw new KelpError('unavailable', 'leftovers', `processes of an earlier run in ${folder} don't end: ${left}`);
    }
  }
  rmSync(join(folder, PID_FILE), { force: true });
  return found.length;
}

async function goneWithin(folder: string, waitMs: number, signal: AbortSignal): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += POLL_MS) {
    if (findLeftovers(folder).length === 0) return true;
    await sleep(POLL_MS, undefined, { signal });
  }
  return false;
}

function signalEach(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // It ended by itself between the look and the signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** A list that was cut short (the run was killed while it wrote) counts as none: the mark still finds the processes. */
function readList(file: string): z.infer<typeof Entries> {
  if (!existsSync(file)) return [];
  try {
    return Entries.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return [];
    throw error;
  }
}

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const RUNNING_FILE = 'running.json';

const Running = z.object({ pid: z.int().min(2), url: z.url(), brokers: z.array(z.string()) });

/** What runs on a data folder, once it serves: for commands that find it there. */
export type Running = z.infer<typeof Running>;

export function writeRunning(dir: string, running: Running): void {
  const temporary = join(dir, `${RUNNING_FILE}.tmp`);
  writeFileSync(temporary, JSON.stringify(running));
  renameSync(temporary, join(dir, RUNNING_FILE));
}

export function removeRunning(dir: string): void {
  rmSync(join(dir, RUNNING_FILE), { force: true });
}

/** Undefined: nothing serves there, or it has only begun. After a kill -9 it may tell of what is gone. */
export function readRunning(dir: string): Running | undefined {
  const file = join(dir, RUNNING_FILE);
  return existsSync(file) ? Running.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
}

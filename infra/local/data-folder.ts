import { accessSync, constants, existsSync, mkdirSync, readFileSync, realpathSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { KelpError } from '../../src/model/errors.ts';
import { type Lock, tryLock } from './kernel-lock.ts';
import { endLeftovers } from './leftovers.ts';

const OWNER_FILE = 'owner';

/** Free space without which a start is refused: SeaweedFS lays out its first volumes, and stops taking writes on a full disk. */
const FREE_BYTES_MIN = 1_073_741_824;

export type DataFolder = Lock & { readonly dir: string };

/**
 * Takes the data folder for this process, makes it at first, and ends what an earlier run left in it. Errors `unavailable`:
 * `data-folder` (can't be made or written), `data-in-use` (another run lives), `no-space`.
 */
export async function takeDataFolder(folder: string, say: (line: string) => void, signal: AbortSignal): Promise<DataFolder> {
  const dir = makeFolder(resolve(folder));
  const lock = await tryLock(dir);
  if (lock === undefined) {
    const owner = existsSync(join(dir, OWNER_FILE)) ? readFileSync(join(dir, OWNER_FILE), 'utf8') : 'unknown';
    throw new KelpError(
      'unavailable',
      'data-in-use',
      `another kelp (process ${owner}) is running on ${dir} (set KELP_DATA to another folder)`,
    );
  }
  try {
    const ended = await endLeftovers(dir, signal);
    if (ended > 0) say(`ended ${ended} processes that an earlier run left behind`);
    checkSpace(dir, FREE_BYTES_MIN);
    writeFileSync(join(dir, OWNER_FILE), String(process.pid));
  } catch (error) {
    lock.release();
    throw error;
  }
  return { dir, release: () => lock.release() };
}

/** The process that has this data folder at the moment, if there is one. */
export async function findRun(folder: string): Promise<{ readonly dir: string; readonly pid: number } | undefined> {
  if (!existsSync(join(folder, OWNER_FILE))) return undefined;
  const dir = realpathSync(folder);
  const lock = await tryLock(dir);
  lock?.release();
  return lock === undefined ? { dir, pid: Number(readFileSync(join(dir, OWNER_FILE), 'utf8')) } : undefined;
}

/** Error `unavailable`/`no-space`. */
export function checkSpace(dir: string, bytesMin: number): void {
  const { bavail, bsize } = statfsSync(dir);
  const free = bavail * bsize;
  if (free >= bytesMin) return;
  throw new KelpError('unavailable', 'no-space', `${dir} has ${mebibytes(free)} of free disk space, but ${mebibytes(bytesMin)} are needed`);
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1_048_576)} MiB`;
}

function makeFolder(dir: string): string {
  try {
    makeFolders(dir);
    accessSync(dir, constants.W_OK);
    return realpathSync(dir);
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file stands in its place' : code;
    throw new KelpError('unavailable', 'data-folder', `the data folder ${dir} cannot be used: ${why} (see KELP_DATA)`, { cause });
  }
}

/** Node's own recursive mkdir never ends below folders that take none, such as /proc. */
function makeFolders(dir: string): void {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(dir) !== dir) makeFolders(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
}

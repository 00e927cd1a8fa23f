import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

const LINUX = process.platform === 'linux';

/**
 * What tells a process from a later one with the same pid: its start time, as an opaque text.
 * Undefined when there is no such process, or it has ended and only waits to be reaped.
 */
export function startTimeOf(pid: number): string | undefined {
  if (!LINUX) return startTimeByPs(pid);
  const stat = readProc(pid, 'stat');
  // The name stands in brackets and may hold blanks and brackets itself: fields are counted from the last one.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || fields[0] === 'Z' ? undefined : fields[19];
}

/** Processes whose environment had `name=value` when they began. Only Linux can tell; elsewhere none. */
export function processesMarked(name: string, value: string): number[] {
  if (!LINUX) return [];
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return pids.map(Number).filter((pid) => readProc(pid, 'environ')?.split('\0').includes(`${name}=${value}`) ?? false);
}

/** Undefined when the process is gone, or isn't ours to look at. */
function readProc(pid: number, file: 'stat' | 'environ'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined;
    throw error;
  }
}

function startTimeByPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined; // ps answers 1 for a pid that isn't there
  }
}

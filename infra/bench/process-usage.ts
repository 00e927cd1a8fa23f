import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Linux counts processor time in these for user space, on every architecture. */
const TICKS_PER_SECOND = 100;
const KIBIBYTE = 1_024;

/** What Linux says about a process; elsewhere nothing is known. */
export type ProcessStat = { readonly group: number; /** With children that have ended and were waited for. */ readonly cpuSeconds: number };

/** `/proc/<pid>/stat`. The name stands in brackets and may hold blanks and brackets itself: fields are counted from the last one. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { group: Number(fields[2]), cpuSeconds: ticks / TICKS_PER_SECOND };
}

/** The peak of resident memory in `/proc/<pid>/status`. */
export function parsePeakBytes(text: string): number | undefined {
  const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(text) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * KIBIBYTE;
}

/** Processor time of a process group, which is a child of ours with all of its own. */
export function groupCpuSeconds(group: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const stats = pids.flatMap((pid) => readProc(`${pid}/stat`) ?? []).map(parseStat);
  return stats.filter((stat) => stat.group === group).reduce((sum, stat) => sum + stat.cpuSeconds, 0);
}

export function peakMemoryBytes(pid: number): number | undefined {
  const text = readProc(`${pid}/status`);
  return text === undefined ? undefined : parsePeakBytes(text);
}

/** Begins a new peak; where the kernel doesn't allow it, the old one goes on. */
export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** It has ended meanwhile, isn't ours, or this is not Linux. */
function isExpected(error: unknown): boolean {
  return ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

import { cpus, loadavg } from 'node:os';
import { wallMs } from './flood-writers.ts';
import type { FunctionFleet } from './function-fleet.ts';

const EVERY_MS = 5_000;

/** Seconds of processors within EVERY_MS before `second`: of the functions, of this process (load, and table in front), of everybody. */
type ProcessorLine = {
  readonly second: number;
  readonly functions: number;
  readonly bench: number;
  readonly all: number;
  readonly of: number;
  readonly loadAverage: number;
};

type Moment = {
  readonly atMs: number;
  readonly functions: number;
  readonly bench: number;
  readonly all: number;
  readonly loadAverage: number;
};

/** Who has the processors meanwhile: where others have them, or there are too few, that is what is measured. */
export function watchProcessors(fleet: Pick<FunctionFleet, 'cpuSeconds'>): { lines(fromMs: number): ProcessorLine[]; stop(): void } {
  const moments: Moment[] = [];
  const look = (): void => {
    const { user, system } = process.cpuUsage();
    const all = cpus().reduce((ms, { times }) => ms + times.user + times.nice + times.sys + times.irq, 0) / 1_000;
    const [loadAverage = 0] = loadavg();
    moments.push({ atMs: wallMs(), functions: fleet.cpuSeconds() ?? 0, bench: (user + system) / 1e6, all, loadAverage });
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return {
    lines: (fromMs) => moments.slice(1).map((moment, at) => lineOf(moments[at] as Moment, moment, fromMs)),
    stop: () => clearInterval(timer),
  };
}

function lineOf(before: Moment, now: Moment, fromMs: number): ProcessorLine {
  const spent = (of: 'functions' | 'bench' | 'all'): number => Number((now[of] - before[of]).toFixed(2));
  const seconds = (now.atMs - before.atMs) / 1_000;
  return {
    second: Math.round((now.atMs - fromMs) / 1_000),
    functions: spent('functions'),
    bench: spent('bench'),
    all: spent('all'),
    of: Number((seconds * cpus().length).toFixed(2)),
    loadAverage: now.loadAverage,
  };
}

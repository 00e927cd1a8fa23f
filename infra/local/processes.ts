import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PID_FILE, RUN_MARK } from './leftovers.ts';
import { startTimeOf } from './process-table.ts';

const SETPRIV = '/usr/bin/setpriv';
const GRACE_MS = 5_000;
const LOG_BYTES_MAX = 16_777_216;

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Program = {
  /** Short and unique in its folder: it names the log file. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** Added to the little that every child gets (see {@link baseEnvironment}). */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
};

export type Child = {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Bytes that earlier runs had left in it. */
  readonly logStart: number;
  readonly exited: Promise<Exit>;
  running(): boolean;
  /** Sends one signal to the whole group. */
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL after `graceMs`; resolves when it is gone. */
  stop(graceMs?: number): Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
};

export type Children = {
  /** Where logs and the list of pids are. */
  readonly dir: string;
  start(program: Program): Promise<Child>;
  /** Stops all that still run, at the same time. */
  stopAll(graceMs?: number): Promise<void>;
};

/** Programs of one folder. They end with this process, however it ends, and carry a mark by which leftovers are found. */
export function createChildren(folder: string): Children {
  mkdirSync(folder, { recursive: true });
  const dir = realpathSync(folder);
  const running = new Map<number, Child>();

  function savePids(): void {
    const entries = [...running.values()].map(({ name, pid }) => ({ name, pid, startTime: startTimeOf(pid) ?? '' }));
    // Whole at any moment: whoever is killed here leaves a list to go by, and others read it while this one runs.
    const file = join(dir, PID_FILE);
    writeFileSync(`${file}.tmp`, JSON.stringify(entries));
    renameSync(`${file}.tmp`, file);
  }

  async function start(program: Program): Promise<Child> {
    const child = await startChild(dir, program);
    running.set(child.pid, child);
    savePids();
    void forget(child);
    return child;
  }

  async function forget(child: Child): Promise<void> {
    await child.exited;
    running.delete(child.pid);
    if (existsSync(dir)) savePids();
  }

  return { dir, start, stopAll: async (graceMs) => void (await Promise.all([...running.values()].map((child) => child.stop(graceMs)))) };
}

/** What a child needs of our environment and no more: a `weed` would take AWS credentials that it finds there for its own. */
function baseEnvironment(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

async function startChild(dir: string, program: Program): Promise<Child> {
  const logFile = join(dir, `${program.name}.log`);
  rotateLog(logFile);
  const log = openSync(logFile, 'a');
  const logStart = fstatSync(log).size;
  const [file, args] = boundToParent(program);
  const child = spawn(file, args, {
    detached: true, // a group of its own: Ctrl-C in a terminal reaches only us, and we end the others in order
    stdio: ['ignore', log, log, 'pipe'],
    env: { ...baseEnvironment(), ...program.env, [RUN_MARK]: dir },
    cwd: program.cwd ?? process.cwd(),
  });
  closeSync(log);
  const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  await once(child, 'spawn');
  return { name: program.name, logFile, logStart, exited, ...control(child, exited) };
}

/** For the one line that says why a program failed. */
export function lastLogLine({ logFile, logStart }: Child): string {
  const lines = readFileSync(logFile).subarray(logStart).toString().trim().split('\n');
  return toldBy(lines.at(-1)?.trim() ?? '') || 'no output';
}

type LogLine = { readonly message?: string; readonly error?: string | { readonly message?: string } | null };

/** What a line of a broker's log tells in words; any other line as it is. */
function toldBy(line: string): string {
  try {
    const { message, error } = JSON.parse(line) as LogLine;
    const why = typeof error === 'object' ? error?.message : error;
    if (message !== undefined) return why === undefined ? message : `${message}: ${why}`;
  } catch {
    // Words already.
  }
  return line;
}

/** Logs go on from run to run, but not for ever. */
function rotateLog(file: string): void {
  const { size } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0 };
  if (size > LOG_BYTES_MAX) renameSync(file, `${file}.old`);
}

function control(child: ChildProcess, exited: Promise<Exit>): Pick<Child, 'pid' | 'running' | 'signal' | 'stop' | 'kill'> {
  const { pid } = child;
  if (pid === undefined) throw new Error('a child that has begun has a pid');
  const signal = (name: NodeJS.Signals): void => void signalGroup(pid, name);

  async function kill(): Promise<void> {
    signal('SIGKILL');
    await exited;
  }

  async function stop(graceMs = GRACE_MS): Promise<void> {
    signal('SIGTERM');
    await settlesWithin(exited, graceMs);
    // Also after a good end: what the child itself started and left behind is still in its group.
    await kill();
  }
  return { pid, running: () => child.exitCode === null && child.signalCode === null, signal, stop, kill };
}

/** Whether there was anybody to take it. */
function signalGroup(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function settlesWithin(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  const cancel = new AbortController();
  const late = sleep(waitMs, false, { signal: cancel.signal, ref: false });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    late.catch(() => undefined); // cancelled on the next line, and nobody else waits for it
    cancel.abort();
  }
}

/**
 * The command that ends with us, even after kill -9: by the kernel on Linux; elsewhere a shell waits for the end of a pipe
 * whose other end only we hold.
 */
function boundToParent({ file, args }: Program): [string, string[]] {
  if (existsSync(SETPRIV)) return [SETPRIV, ['--pdeathsig', 'TERM', '--', file, ...args]];
  const watch = '"$@" </dev/null 3<&- & p=$!; trap "kill -TERM $p" TERM; (cat <&3 >/dev/null; kill -TERM $p) & wait $p';
  return ['/bin/sh', ['-c', watch, 'sh', file, ...args]];
}

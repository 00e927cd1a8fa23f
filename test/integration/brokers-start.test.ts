import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { type Endpoint, listBrokers } from '../../infra/local/list-brokers.ts';
import { startTimeOf } from '../../infra/local/process-table.ts';
import { bareEnvironment } from './bare-environment.ts';
import { childrenOf, runStart, type Started, withDataFolder } from './run-start.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ROLLING_RESTART = join(ROOT, 'infra', 'local', 'rolling-restart.ts');
const LISTED = { timeout: 15_000 };
const WRITERS = 4;
const PAUSE_MS = 20;
const STOP_MS_MAX = 10_000;

type Ended = { readonly code: number | null; readonly output: string; readonly errors: string };

let started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid, exitCode, signalCode } of started)
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  started = [];
});

/** A command of its own group, as a terminal starts it. */
function run(
  file: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): { child: ChildProcess; output(): string; ended: Promise<Ended> } {
  const child = spawn(file, args, {
    cwd: ROOT,
    detached: true,
    env: { ...bareEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, output, errors })));
  return { child, output: () => output, ended };
}

const rollingRestart = (dir: string): Promise<Ended> => run(process.execPath, [ROLLING_RESTART], { KELP_DATA: dir }).ended;

function pidOf(dir: string, name: string): number {
  const pids = JSON.parse(readFileSync(join(dir, 'pids.json'), 'utf8')) as { name: string; pid: number }[];
  return pids.find((entry) => entry.name === name)?.pid ?? 0;
}

async function stop(start: Started, dir: string): Promise<void> {
  const beganMs = performance.now();
  start.signal('SIGTERM');
  expect(await start.exited).toMatchObject({ code: 0, errors: '' });
  expect(performance.now() - beganMs).toBeLessThan(STOP_MS_MAX);
  expect(childrenOf(dir)).toEqual([]);
}

async function endpointOf(start: Started, dir: string): Promise<Endpoint> {
  return { url: await start.ready(), rootToken: readFileSync(join(dir, 'root-token'), 'utf8') };
}

const idsOf = async (kelp: Endpoint): Promise<string[]> => (await listBrokers(kelp, AbortSignal.timeout(5_000))).map(({ id }) => id);

function call({ url, rootToken }: Endpoint, method: string, path: string, body?: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' };
  return fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

/** Publishes with a few writers until told to stop; answers how many were stored, and everything that was not a 200. */
function publishInBackground(kelp: Endpoint): { stop(): Promise<{ stored: number; failures: string[] }> } {
  const failures: string[] = [];
  let stored = 0;
  const told = new AbortController();
  async function write(writer: number): Promise<void> {
    for (let n = 0; !told.signal.aborted; n++) {
      try {
        const answer = await call(kelp, 'POST', '/v1/topics/load/messages', { messages: [{ key: `w${writer}`, text: String(n) }] });
        const text = await answer.text();
        if (answer.status === 200) stored += 1;
        else failures.push(`${answer.status} ${text}`);
      } catch (error) {
        failures.push(`${String(error)}: ${String((error as Error).cause)}`);
      }
      await sleep(PAUSE_MS); // the pace of the load
    }
  }
  const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
  return {
    async stop() {
      told.abort();
      await Promise.all(writers);
      return { stored, failures };
    },
  };
}

/** All messages of the topic, by number. */
async function countMessages(kelp: Endpoint): Promise<number> {
  let count = 0;
  let cursor = 'earliest';
  for (;;) {
    const answer = await call(kelp, 'GET', `/v1/topics/load/messages?cursor=${encodeURIComponent(cursor)}&limit=10000`);
    const page = (await answer.json()) as { messages: unknown[]; cursor: string };
    if (page.messages.length === 0) return count;
    count += page.messages.length;
    ({ cursor } = page);
  }
}

describe('npm start -- --brokers 3', { timeout: 180_000 }, () => {
  test('serves at one address; a rolling restart fails no request; one more joins and leaves; all of it ends', () =>
    withDataFolder(async (dir) => {
      const start = runStart(dir, {}, ['--brokers', '3']);
      const kelp = await endpointOf(start, dir);
      expect(childrenOf(dir)).toHaveLength(5);
      await expect.poll(() => idsOf(kelp), LISTED).toEqual(['broker-1', 'broker-2', 'broker-3']);
      expect((await call(kelp, 'PUT', '/v1/topics/load', { partitionKey: 'key', segments: 4 })).status).toBe(201);

      const load = publishInBackground(kelp);
      const restarted = await rollingRestart(dir);
      const { stored, failures } = await load.stop();
      expect(restarted).toMatchObject({ code: 0, errors: '' });
      expect(restarted.output).toMatch(/^broker-1 [^\n]+\nbroker-2 [^\n]+\nbroker-3 [^\n]+\nall 3 brokers are restarted\n$/);
      expect(failures).toEqual([]);
      expect(stored).toBeGreaterThan(WRITERS);
      expect(await countMessages(kelp)).toBe(stored);

      // The line that was printed, pasted into a shell.
      const line = /^\(set -a; .*\)$/m.exec(start.output())?.[0] ?? '';
      const joined = run('sh', ['-c', line]);
      await expect.poll(() => idsOf(kelp), LISTED).toHaveLength(4);
      await expect.poll(joined.output, LISTED).toContain('Ctrl-C has it leave');
      process.kill(-(joined.child.pid ?? 0), 'SIGINT');
      expect((await joined.ended).output).toContain('stopped');
      await expect.poll(() => idsOf(kelp), LISTED).toEqual(['broker-1', 'broker-2', 'broker-3']);
      await stop(start, dir);
    }));

  test('a broker that is killed is started again, one that stands still keeps nobody waiting; one that always ends, ends it all', () =>
    withDataFolder(async (dir) => {
      const start = runStart(dir, {}, ['--brokers', '2']);
      const kelp = await endpointOf(start, dir);
      const lives = async (): Promise<number> => (await fetch(`${kelp.url}/livez`, { signal: AbortSignal.timeout(5_000) })).status;

      const halted = pidOf(dir, 'broker-1');
      process.kill(halted, 'SIGSTOP');
      await expect.poll(() => Promise.all(Array.from({ length: 6 }, lives)), LISTED).toEqual(Array.from({ length: 6 }, () => 200));
      process.kill(halted, 'SIGCONT');

      for (let n = 1; n <= 5; n++) {
        const pid = pidOf(dir, 'broker-2');
        process.kill(pid, 'SIGKILL');
        if (n === 5) break;
        await expect.poll(() => [0, pid].includes(pidOf(dir, 'broker-2')), LISTED).toBe(false);
        expect(await lives()).toBe(200);
      }
      const { code, output } = await start.exited;
      expect(code).toBe(1);
      expect(output).toContain(`broker-2 has ended by itself (see ${join(dir, 'broker-2.log')}): stopping`);
      expect(output.match(/broker-2 has ended by itself .* starting it again/g)).toHaveLength(4);
      expect(childrenOf(dir)).toEqual([]);
    }));
});

describe('what cannot be done is one line', { timeout: 60_000 }, () => {
  test.each<[string[], NodeJS.ProcessEnv, RegExp]>([
    [['--brokers', '17'], {}, /^kelp: --brokers must be a whole number from 1 to 16, but is "17"\n$/],
    [['--unknown'], {}, /^kelp: Unknown option '--unknown'[^\n]*\n$/],
    [['--brokers', '2'], { KELP_BROKER_ID: 'till' }, /^kelp: KELP_BROKER_ID is one broker's own: it goes without --brokers\n$/],
    [['--join'], {}, /^(kelp: KELP_[A-Z0-9_]+ is missing: [^\n]+\n){7}$/],
  ])('npm start -- %j', (args, environment, line) =>
    withDataFolder(async (dir) => {
      const data = join(dir, 'data');
      const { code, errors, output } = await runStart(data, environment, args).exited;
      expect({ code, output }).toEqual({ code: 1, output: '' });
      expect(errors).toMatch(line);
      expect(existsSync(data)).toBe(false);
    }),
  );

  test('--help tells what there is', () =>
    withDataFolder(async (dir) => {
      const { code, output } = await runStart(dir, {}, ['--help']).exited;
      expect(code).toBe(0);
      for (const option of ['--brokers N', '--join']) expect(output).toContain(option);
    }));

  test('a rolling restart of nothing, and of one broker', () =>
    withDataFolder(async (dir) => {
      const nothing = join(dir, 'nothing');
      mkdirSync(nothing);
      expect(await rollingRestart(nothing)).toEqual({
        code: 1,
        output: '',
        errors: `kelp: no kelp is running on ${nothing} (KELP_DATA names the folder of one that does)\n`,
      });
      const start = runStart(dir);
      await start.ready();
      const broker = pidOf(dir, 'broker');
      const refused = await rollingRestart(dir);
      expect(refused).toMatchObject({ code: 1, output: '' });
      expect(refused.errors).toMatch(/^kelp: [^\n]+ has one broker, and nobody to serve while it restarts [^\n]+\n$/);
      // Whoever signals it all the same is told, too.
      start.signal('SIGUSR2');
      await expect.poll(start.output).toContain('nothing is restarted');
      expect(startTimeOf(broker)).toBeDefined();
      expect(parseEnv(readFileSync(join(dir, 'join.env'), 'utf8'))).toHaveProperty('KELP_INTERNAL_SECRET');
      await stop(start, dir);
      // Its stores have ended with it.
      expect(existsSync(join(dir, 'join.env'))).toBe(false);
    }));
});

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { RUN_MARK } from '../../infra/local/leftovers.ts';
import { startTimeOf } from '../../infra/local/process-table.ts';
import { sharedStack } from '../stack.ts';
import { childrenOf, runStart, type Started, withDataFolder } from './run-start.ts';

const run = promisify(execFile);
const STOP_MS_MAX = 10_000;

async function stop(started: Started, dir: string): Promise<void> {
  const beganMs = performance.now();
  started.signal('SIGTERM');
  expect(await started.exited).toMatchObject({ code: 0, errors: '' });
  expect(performance.now() - beganMs).toBeLessThan(STOP_MS_MAX);
  expect(childrenOf(dir)).toEqual([]);
}

function pidOf(dir: string, name: string): number {
  const pids = JSON.parse(readFileSync(join(dir, 'pids.json'), 'utf8')) as { name: string; pid: number }[];
  const found = pids.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`no process ${name}`);
  return found.pid;
}

/** Pastes the three lines of curl into a shell; answers what each printed. */
async function pasteLines(started: Started): Promise<unknown[]> {
  const lines = started
    .output()
    .split('\n')
    .filter((line) => line.startsWith('curl '));
  expect(lines).toHaveLength(3);
  const { stdout } = await run('sh', ['-e', '-c', lines.join('\n')]);
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

describe('npm start', { timeout: 120_000 }, () => {
  test('serves, keeps its secrets to itself, and leaves nothing running', () =>
    withDataFolder(async (dir) => {
      const started = runStart(dir);
      await started.ready();
      expect(childrenOf(dir)).toHaveLength(3);
      const secrets = ['root-token', 'secret', 'internal-secret', 'store-secret', 's3.json', 'join.env'];
      for (const name of secrets) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
      await stop(started, dir);

      const token = readFileSync(join(dir, 'root-token'), 'utf8');
      const logs = readdirSync(dir).filter((name) => name.endsWith('.log'));
      expect(logs).toContain('broker.log');
      for (const name of logs) expect(readFileSync(join(dir, name), 'utf8')).not.toContain(token);
    }));

  test('its three lines of curl work; after kill -9 the next start has the same data', () =>
    withDataFolder(async (dir) => {
      const first = runStart(dir);
      await first.ready();
      const [created, published, read] = await pasteLines(first);
      expect(created).toMatchObject({ topic: 'hello' });
      expect(published).toMatchObject({ results: [{ offset: 0 }] });
      expect(read).toMatchObject({ messages: [{ key: 'a', text: 'Hello, Kelp' }] });
      first.signal('SIGKILL');
      await first.exited;
      // At once: the children of the first one are on their way out, or not even that.
      const second = runStart(dir);
      await second.ready();
      expect(childrenOf(dir)).toHaveLength(3);
      const [, more, all] = await pasteLines(second);
      expect(more).toMatchObject({ results: [{ offset: 1 }] });
      expect(all).toMatchObject({ messages: [{ offset: 0 }, { offset: 1 }] });
      await stop(second, dir);
    }));

  test('ends what an earlier run left behind', () =>
    withDataFolder(async (dir) => {
      const leftover = spawn('sh', ['-c', 'trap "" TERM; while :; do sleep 1; done'], {
        env: { ...process.env, [RUN_MARK]: dir },
        stdio: 'ignore',
      });
      const ended = once(leftover, 'exit');
      await once(leftover, 'spawn');
      const started = runStart(dir);
      await started.ready();
      expect(await ended).toEqual([null, 'SIGKILL']);
      await stop(started, dir);
      expect((await started.exited).output).toMatch(/ended \d processes that an earlier run left behind/);
    }));

  test('a second start on the same data is refused and leaves the first one alone', () =>
    withDataFolder(async (dir) => {
      const first = runStart(dir);
      const url = await first.ready();
      const { code, errors } = await runStart(dir).exited;
      expect({ code, errors }).toEqual({
        code: 1,
        errors: `kelp: another kelp (process ${first.pid}) is running on ${dir} (set KELP_DATA to another folder)\n`,
      });
      expect((await fetch(`${url}/livez`)).status).toBe(200);
      await stop(first, dir);
    }));

  test('ends with an error when one of its processes ends by itself', () =>
    withDataFolder(async (dir) => {
      const started = runStart(dir);
      await started.ready();
      process.kill(pidOf(dir, 'weed'), 'SIGKILL');
      const { code, output } = await started.exited;
      expect(code).toBe(1);
      expect(output).toContain(`weed has ended by itself (see ${join(dir, 'weed.log')}): stopping`);
      expect(childrenOf(dir)).toEqual([]);
    }));

  test('a stop ends even what hangs', () =>
    withDataFolder(async (dir) => {
      const started = runStart(dir);
      const url = await started.ready();
      await pasteLines(started);
      process.kill(pidOf(dir, 'weed'), 'SIGSTOP');
      const authorization = `Bearer ${readFileSync(join(dir, 'root-token'), 'utf8')}`;
      const hanging = fetch(`${url}/v1/topics/hello/message?key=a`, { method: 'POST', headers: { authorization }, body: 'x' });
      const fate = hanging.then(
        (answer) => answer.status,
        () => 'cut',
      );
      expect((await fetch(`${url}/livez`)).status).toBe(200);
      await stop(started, dir);
      expect(['cut', 503, 504]).toContain(await fate);
    }));

  test('a stop while it is starting leaves nothing running', () =>
    withDataFolder(async (dir) => {
      const started = runStart(dir);
      await expect.poll(() => childrenOf(dir).length, { timeout: 10_000 }).toBeGreaterThan(0);
      await stop(started, dir);
    }));

  test('uses services that run elsewhere', () =>
    withDataFolder(async (dir) => {
      const { store, dynoxide } = sharedStack();
      const started = runStart(dir, {
        KELP_S3_ENDPOINT: store.endpoint,
        KELP_S3_BUCKET: store.bucket,
        KELP_S3_ACCESS_KEY: store.accessKey,
        KELP_S3_SECRET_KEY: store.secretKey,
        KELP_TABLE_ENDPOINT: dynoxide.endpoint,
        KELP_TABLE: 'kelp-of-start',
      });
      await started.ready();
      const children = childrenOf(dir);
      expect(children).toHaveLength(1);
      await stop(started, dir);
      expect(startTimeOf(children[0] ?? 0)).toBeUndefined();
    }));
});

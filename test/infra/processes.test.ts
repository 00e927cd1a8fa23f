import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endLeftovers, findLeftovers, PID_FILE } from '../../infra/local/leftovers.ts';
import { startTimeOf } from '../../infra/local/process-table.ts';
import { type Children, createChildren, lastLogLine } from '../../infra/local/processes.ts';

let dir: string;
let children: Children;
const signal = AbortSignal.timeout(60_000);
const shell = (script: string): { name: string; file: string; args: string[] } => ({
  name: 'shell',
  file: '/bin/sh',
  args: ['-c', script],
});
const alive = (pid: number): boolean => startTimeOf(pid) !== undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kelp-processes-'));
  children = createChildren(dir);
});
afterEach(async () => {
  await children.stopAll(0);
  rmSync(dir, { recursive: true });
});

describe('a child', () => {
  test('has its output in a log and tells how it ended', async () => {
    const child = await children.start(shell('echo one; echo two >&2; exit 3'));
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(lastLogLine(child)).toBe('two');
    expect(child.running()).toBe(false);
  });

  test('that logs in JSON is quoted in words', async () => {
    const told = async (line: string): Promise<string> => {
      const child = await children.start({ name: 'logs', file: 'echo', args: [line] });
      await child.exited;
      return lastLogLine(child);
    };
    expect(await told('{"level":"warn","message":"request failed","error":"KelpError: a store does not answer"}')).toBe(
      'request failed: KelpError: a store does not answer',
    );
    expect(await told('{"message":"a heartbeat failed","error":{"name":"Error","message":"refused"}}')).toBe('a heartbeat failed: refused');
    expect(await told('{"message":"leads","epoch":1}')).toBe('leads');
    for (const line of ['null', '7', '{"m":1}', '{"message":']) expect(await told(line)).toBe(line);
  });

  test('gets no credentials of ours', async () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'ours';
    const child = await children.start({ ...shell('echo "id=$AWS_ACCESS_KEY_ID given=$GIVEN"'), env: { GIVEN: 'yes' } });
    delete process.env['AWS_ACCESS_KEY_ID'];
    await child.exited;
    expect(lastLogLine(child)).toBe('id= given=yes');
  });

  test('that ignores SIGTERM is killed, with what it started', async () => {
    const child = await children.start(shell('trap "" TERM; sleep 100 & echo $!; wait'));
    await expect.poll(() => readFileSync(child.logFile, 'utf8')).toMatch(/\d+\n/);
    const grandchild = Number(lastLogLine(child));
    await child.stop(100);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await expect.poll(() => alive(grandchild)).toBe(false);
  });

  test('ends with its parent, even when that is killed', async () => {
    const script = `import { createChildren } from ${JSON.stringify(join(import.meta.dirname, '..', '..', 'infra', 'local', 'processes.ts'))};
      const child = await createChildren(${JSON.stringify(dir)}).start({ name: 'sleep', file: 'sleep', args: ['100'] });
      console.log(child.pid);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(chunk.toString());
    // Only now has the program that binds it to its parent done so, and become this one.
    await expect.poll(() => readFileSync(`/proc/${pid}/comm`, 'utf8')).toBe('sleep\n');
    parent.kill('SIGKILL');
    await expect.poll(() => alive(pid)).toBe(false);
  });

  test('of a program that is not there ends at once', async () => {
    const child = await children.start({ name: 'none', file: join(dir, 'none'), args: [] });
    expect((await child.exited).code).toBe(127);
  });
});

describe('leftovers', () => {
  test('are found by their mark and by the list of pids, and ended', async () => {
    const { pid } = await children.start(shell('sleep 100'));
    expect(findLeftovers(dir)).toContain(pid);
    expect(await endLeftovers(dir, signal)).toBeGreaterThan(0);
    expect(alive(pid)).toBe(false);
    expect(findLeftovers(dir)).toEqual([]);
  });

  test('are not strangers that were given the same pid', async () => {
    const stranger = spawn('sleep', ['100'], { stdio: 'ignore' });
    const pid = stranger.pid ?? 0;
    writeFileSync(join(dir, PID_FILE), JSON.stringify([{ name: 'weed', pid, startTime: '1' }]));
    expect(findLeftovers(dir)).toEqual([]);
    writeFileSync(join(dir, PID_FILE), JSON.stringify([{ name: 'weed', pid, startTime: startTimeOf(pid) }]));
    expect(findLeftovers(dir)).toEqual([pid]);
    stranger.kill('SIGKILL');
    await once(stranger, 'exit');
  });

  test.each(['', '[{"name":"weed"', '{}', '[{"name":"weed","pid":-1,"startTime":""}]'])(
    'a damaged list counts as none: %j',
    async (text) => {
      writeFileSync(join(dir, PID_FILE), text);
      expect(await endLeftovers(dir, signal)).toBe(0);
      expect(existsSync(join(dir, PID_FILE))).toBe(false);
    },
  );
});

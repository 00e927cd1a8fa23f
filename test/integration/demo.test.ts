import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ENTRY = fileURLToPath(new URL('../../infra/demo/demo.ts', import.meta.url));
const DEMO_MS_MAX = 120_000;
let folder = '';

beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'kelp-test-demo-'))));
afterAll(() => rmSync(folder, { recursive: true }));

/** As `npm run demo` runs it, with its temporary folder in ours. */
async function demo(...args: string[]): Promise<{ code: number | null; output: string; problem: string }> {
  const child = spawn(process.execPath, [ENTRY, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: folder } });
  const code = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [output, problem] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, output, problem };
}

test('the demo starts everything, checks what it has read, and leaves nothing behind', { timeout: DEMO_MS_MAX }, async () => {
  const { code, output, problem } = await demo('--rows', '4000');
  expect({ code, problem }).toEqual({ code: 0, problem: '' });
  expect(output).toMatch(/^publish +4,000 /m);
  expect(output).toMatch(/^read +4,000 /m);
  expect(output).toContain('nothing is lost, doubled, changed or out of order');
  expect(readdirSync(folder)).toEqual([]);
});

test('a wrong option is one line and its own exit code', async () => {
  expect(await demo('--rows', 'all')).toEqual({
    code: 2,
    output: '',
    problem: 'kelp: --rows must be a whole number from 1 to 3000000, but is "all"\n',
  });
});

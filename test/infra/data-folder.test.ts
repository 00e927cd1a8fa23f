import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkSpace, takeDataFolder } from '../../infra/local/data-folder.ts';
import { keptSecret } from '../../infra/local/secrets.ts';

let dir: string;
const signal = AbortSignal.timeout(60_000);
const take = (): ReturnType<typeof takeDataFolder> => takeDataFolder(dir, () => undefined, signal);

beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'kelp-data-'))));
afterEach(() => rmSync(dir, { recursive: true }));

test('one process has a data folder at a time', async () => {
  const first = await take();
  await expect(take()).rejects.toMatchObject({ code: 'data-in-use', message: expect.stringContaining(`process ${process.pid}`) as string });
  first.release();
  const second = await take();
  second.release();
});

test('a data folder needs free space', () => {
  expect(() => checkSpace(dir, 1)).not.toThrow();
  expect(() => checkSpace(dir, Number.MAX_SAFE_INTEGER)).toThrow(/^\S+ has \d+ MiB of free disk space, but 8589934591 MiB are needed$/);
});

describe('keptSecret', () => {
  test('is made once, is long, and only its owner can read it', () => {
    const secret = keptSecret(dir, 'token');
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(keptSecret(dir, 'token')).toBe(secret);
    expect(keptSecret(dir, 'other')).not.toBe(secret);
    expect(statSync(join(dir, 'token')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, 'token'), 'utf8')).toBe(secret);
  });

  test.each(['', 'short', 'a line\nand another'])('refuses a damaged file: %j', (text) => {
    writeFileSync(join(dir, 'token'), text);
    expect(() => keptSecret(dir, 'token')).toThrow('does not hold a secret');
  });
});

test.each([
  ['a file', 'file', 'a file stands in its place'],
  ['below a file', 'file/below', 'a file stands in its place'],
  ['a place that takes no folders', '/proc/kelp', 'ENOENT'],
])('%s is no data folder, and the error says why', async (_, path, why) => {
  writeFileSync(join(dir, 'file'), '');
  const taken = takeDataFolder(resolve(dir, path), () => undefined, signal);
  await expect(taken).rejects.toMatchObject({ code: 'data-folder', message: expect.stringContaining(why) as string });
});

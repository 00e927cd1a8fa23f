import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findRun, takeDataFolder } from '../../infra/local/data-folder.ts';
import {
  checkJoinEnvironment,
  joinCommand,
  readRootToken,
  restartCommand,
  writeJoinEnvironment,
} from '../../infra/local/join-environment.ts';
import { parseOptions } from '../../infra/local/options.ts';
import { readRunning, removeRunning, writeRunning } from '../../infra/local/running.ts';
import { checkShared, namePrefix } from '../../infra/local/start-brokers.ts';

let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'kelp-options-'))));
afterEach(() => rmSync(dir, { recursive: true }));

describe('what npm start is told', () => {
  test.each([
    [[], { kind: 'start', brokers: 1 }],
    [['--brokers', '1'], { kind: 'start', brokers: 1 }],
    [['--brokers=16'], { kind: 'start', brokers: 16 }],
    [['--join'], { kind: 'join' }],
    [['--functions'], { kind: 'functions' }],
    [['--help'], { kind: 'help' }],
    [['-h', '--join'], { kind: 'help' }],
  ])('%j', (args, command) => {
    expect(parseOptions(args)).toEqual(command);
  });

  test.each([
    [['--brokers', '0'], '--brokers must be a whole number from 1 to 16, but is "0"'],
    [['--brokers', '17'], '--brokers must be a whole number from 1 to 16, but is "17"'],
    [['--brokers', '3x'], '--brokers must be a whole number from 1 to 16, but is "3x"'],
    [['--brokers', ''], '--brokers must be a whole number from 1 to 16, but is ""'],
    [['--brokers'], /^Option '--brokers <value>' argument missing/],
    [['--join', '--brokers', '2'], '--join starts one broker: it goes without --brokers'],
    [['--functions', '--join'], '--functions starts no broker: it goes alone'],
    [['--functions', '--brokers=2'], '--functions starts no broker: it goes alone'],
    [['--brokres', '2'], /^Unknown option '--brokres'/],
    [['three'], /^Unexpected argument 'three'/],
  ])('%j is refused in one line', (args, message) => {
    const line = expect.stringMatching(typeof message === 'string' ? message : new RegExp(`${message.source}[^\\n]*$`)) as string;
    expect(() => parseOptions(args)).toThrow(expect.objectContaining({ code: 'invalid-option', message: line }) as Error);
  });
});

describe('brokers of one start', () => {
  test('share no name and no address', () => {
    const own = { KELP_BROKER_ID: 'till', KELP_PUBLIC_URL: 'https://kelp.example', KELP_ZONE: 'a' };
    expect(() => checkShared(1, own)).not.toThrow();
    expect(() => checkShared(3, { KELP_ZONE: 'a', KELP_BROKER_ID: '' })).not.toThrow();
    expect(() => checkShared(3, own)).toThrow(
      "KELP_BROKER_ID is one broker's own: it goes without --brokers\nKELP_PUBLIC_URL is one broker's own: it goes without --brokers",
    );
  });

  test("have names that other machines' brokers don't have, the same at every start", () => {
    expect(namePrefix(true, '/data')).toBe('broker');
    expect(namePrefix(false, '/data')).toMatch(/^broker-[0-9a-f]{6}$/);
    expect(namePrefix(false, '/data')).toBe(namePrefix(false, '/data'));
    expect(namePrefix(false, '/data')).not.toBe(namePrefix(false, '/other'));
  });
});

describe('what a joining broker needs', () => {
  const complete = {
    KELP_S3_ENDPOINT: 'http://127.0.0.1:8333',
    KELP_S3_ACCESS_KEY: 'access',
    KELP_S3_SECRET_KEY: 'se\'c$(ret)"\\;&',
    KELP_TABLE_ENDPOINT: 'http://127.0.0.1:8000',
    KELP_ROOT_TOKEN: 'root-token-of-the-test',
    KELP_SECRET: 'a-secret-of-the-test:~,~the-old-one-of-it',
    KELP_INTERNAL_SECRET: '#another-secret-of-the-test',
  };

  test('is named, one line for each that is missing', () => {
    expect(() => checkJoinEnvironment(complete)).not.toThrow();
    expect(() => checkJoinEnvironment({ ...complete, KELP_SECRET: '', KELP_TABLE_ENDPOINT: undefined })).toThrow(
      /^KELP_TABLE_ENDPOINT is missing: [^\n]+\nKELP_SECRET is missing: [^\n]+$/,
    );
    let lines: string[] = [];
    try {
      checkJoinEnvironment({});
    } catch (error) {
      lines = (error as Error).message.split('\n');
    }
    expect(lines.map((line) => line.split(' ')[0])).toEqual(Object.keys(complete));
  });

  test('is written for its owner only, as a shell reads it; what is of one broker or one start stays out', () => {
    const others = { KELP_BROKER_ID: 'till', KELP_PORT: '7333', KELP_DATA: dir, KELP_PUBLIC_URL: 'https://kelp.example', AWS_REGION: '' };
    writeFileSync(join(dir, 'join.env.tmp'), '', { mode: 0o644 });
    const shared = { KELP_TABLE: 'kelp-2', KELP_S3_PUBLIC_ENDPOINT: 'https://files.example/s3/', AWS_ACCESS_KEY_ID: 'id' };
    writeJoinEnvironment(dir, { ...complete, ...others, ...shared });
    expect(statSync(join(dir, 'join.env')).mode & 0o777).toBe(0o600);
    const output = execFileSync('sh', ['-c', 'set -a; . "$0"; env -0', join(dir, 'join.env')], { encoding: 'utf8', env: {} });
    const read = Object.fromEntries(
      output.split('\0').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(read).toMatchObject({ ...complete, ...shared });
    for (const name of Object.keys(others)) expect(read).not.toHaveProperty(name);
    expect(readRootToken(dir)).toBe(complete.KELP_ROOT_TOKEN);
  });

  test('without it there is no token to be read', () => {
    expect(() => readRootToken(dir)).toThrow(`${join(dir, 'join.env')} has no root token`);
  });

  test.each([
    ['.kelp', '(set -a; . .kelp/join.env; npm start -- --join)'],
    ['.', '(set -a; . ./join.env; npm start -- --join)'],
    ['/data/my kelp', "(set -a; . '/data/my kelp/join.env'; npm start -- --join)"],
  ])('for the folder %s is used by the line %s', (folder, line) => {
    expect(joinCommand(folder)).toBe(line);
  });

  test.each([
    ['.kelp', 'npm run rolling-restart'],
    ['/data/my kelp', "KELP_DATA='/data/my kelp' npm run rolling-restart"],
  ])('brokers of the folder %s are restarted by the line %s', (folder, line) => {
    expect(restartCommand(folder)).toBe(line);
  });
});

test('what runs on a folder is found while it runs', async () => {
  expect(await findRun(join(dir, 'none'))).toBeUndefined();
  const folder = await takeDataFolder(dir, () => undefined, AbortSignal.timeout(10_000));
  expect(readRunning(dir)).toBeUndefined();
  writeRunning(dir, { pid: process.pid, url: 'http://127.0.0.1:7333', brokers: ['broker-1'] });
  expect(await findRun(dir)).toMatchObject({ pid: process.pid });
  expect(readRunning(dir)).toEqual({ pid: process.pid, url: 'http://127.0.0.1:7333', brokers: ['broker-1'] });
  removeRunning(dir);
  expect(readRunning(dir)).toBeUndefined();
  folder.release();
  expect(await findRun(dir)).toBeUndefined();
});

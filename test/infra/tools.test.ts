import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { tryLock } from '../../infra/local/kernel-lock.ts';
import { takePorts } from '../../infra/local/ports.ts';
import { compareVersions } from '../../infra/local/tools.ts';

test.each([
  ['4.16', '4.17', -1],
  ['4.9', '4.17', -1],
  ['3.99', '4.17', -1],
  ['4.17', '4.17', 0],
  ['4.48', '4.17', 1],
  ['5.0', '4.17', 1],
])('version %s against %s', (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
});

test('a block of ports is free, and no other block has it', async () => {
  const [first, second] = [await takePorts(5), await takePorts(5)];
  expect(first.at(0)).not.toBe(second.at(0));
  for (const block of [first, second]) {
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(block.at(4), '127.0.0.1', resolve));
    server.close();
    block.release();
  }
});

test('a lock has one holder at a time', async () => {
  const name = `kelp-test-${process.pid}`;
  const lock = await tryLock(name);
  expect(lock).toBeDefined();
  expect(await tryLock(name)).toBeUndefined();
  lock?.release();
  const again = await tryLock(name);
  expect(again).toBeDefined();
  again?.release();
});

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Lock = { release(): void };

/**
 * Takes a named lock of this machine, or answers undefined when another process holds it.
 * The lock is a bound local socket: the kernel lets go of it however its holder ends, so kill -9 leaves no lock behind.
 */
export async function tryLock(name: string): Promise<Lock | undefined> {
  const id = `kelp-${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
  // Linux has names without a file. Elsewhere the socket is a file, which outlives its holder and is then taken over.
  if (process.platform === 'linux') return await bind(`\0${id}`);
  const file = join(tmpdir(), `${id}.sock`);
  const lock = await bind(file);
  if (lock !== undefined || (await answers(file))) return lock;
  rmSync(file, { force: true });
  return await bind(file);
}

function bind(address: string): Promise<Lock | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(address, () => {
      // The lock must not keep its holder alive.
      server.unref();
      resolve({ release: () => void server.close() });
    });
  });
}

function answers(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection(file);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

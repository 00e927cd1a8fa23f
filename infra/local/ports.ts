import { createServer, type Server } from 'node:net';
import { KelpError } from '../../src/model/errors.ts';

const BLOCK_PORTS = 16;
const FIRST_PORT = 12_000;
/** SeaweedFS takes every port + 10000 as well, and these must stay below 32768, where ephemeral ports begin. */
const LAST_PORT = 22_767;
const TWIN_OFFSET = 10_000;
const BLOCKS = Math.floor((LAST_PORT - FIRST_PORT) / BLOCK_PORTS);

/** Neighbouring loopback ports that nobody else has: `at(n)` and `at(n) + 10000` are free, `n` from 0 to 14. */
export type PortBlock = { at(n: number): number; release(): void };

/**
 * Takes a block of free ports. The block's last port stays bound by this process, so two processes never share a block,
 * though each port itself is free until a child binds it; the kernel frees the guard however the process ends.
 */
export async function takePorts(count: number): Promise<PortBlock> {
  const first = process.pid % BLOCKS;
  for (let i = 0; i < BLOCKS; i++) {
    const base = FIRST_PORT + ((first + i) % BLOCKS) * BLOCK_PORTS;
    const guard = await bind(base + BLOCK_PORTS - 1, '127.0.0.1');
    if (guard === undefined) continue;
    if (await allFree(base, count)) {
      guard.unref();
      return { at: (n) => base + n, release: () => void guard.close() };
    }
    guard.close();
  }
  throw new KelpError('unavailable', 'no-ports', `no block of ${count} free ports between ${FIRST_PORT} and ${LAST_PORT}`);
}

async function allFree(base: number, count: number): Promise<boolean> {
  const ports = Array.from({ length: count }, (_, n) => base + n);
  // On all addresses: a program elsewhere on the machine may have bound only one of them.
  const servers = await Promise.all(ports.flatMap((port) => [bind(port, '0.0.0.0'), bind(port + TWIN_OFFSET, '0.0.0.0')]));
  for (const server of servers) server?.close();
  return servers.every((server) => server !== undefined);
}

function bind(port: number, host: string): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

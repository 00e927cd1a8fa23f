import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { listenError } from '../../src/cli/http-server.ts';
import { type Address, candidates, createTarget, HEALTH_TIMES, type HealthTimes, type Target, watch } from './entry-target.ts';

/** Nothing was sent yet, so another broker may be asked instead. On one machine a connection takes far less than this. */
const CONNECT_MS_MAX = 1_000;

export type Entry = {
  /** Resolves with the port. Error `unavailable`/`cannot-listen`. */
  listen(host: string, port: number): Promise<number>;
  /** Takes no more connections and cuts those that are left. */
  close(): Promise<void>;
};

/**
 * One address in front of several brokers: each connection goes to one of them, byte by byte. A broker that refuses it is
 * passed over; one that says that it stops, or says nothing, gets new ones only where nobody else takes them. `times` stand in for the entry's own.
 */
export function createEntry(addresses: readonly Address[], times: HealthTimes = HEALTH_TIMES): Entry {
  const targets = addresses.map(createTarget);
  const clients = new Set<Socket>();
  const closing = new AbortController();
  let choices = 0;

  async function serve(client: Socket): Promise<void> {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', noteByClose);
    for (const target of candidates(targets)) {
      choices += 1;
      target.chosen = choices;
      const upstream = await connect(target);
      if (upstream !== undefined) return join(client, upstream);
    }
    client.destroy();
  }

  // A side that has ended may still be answered; and nothing is read before there is somebody who takes it.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => void serve(client));
  return {
    async listen(host, port) {
      const listening = await listen(server, host, port);
      for (const target of targets) void watch(target, times, closing.signal);
      return listening;
    },
    close() {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const client of clients) client.destroy();
      return closed;
    },
  };
}

/** Undefined: it could not be reached, and nothing was sent. */
function connect(target: Target): Promise<Socket | undefined> {
  const { connections } = target;
  return new Promise((resolve) => {
    const socket = createConnection({ ...target.address, allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => socket.destroy(), CONNECT_MS_MAX);
    const refused = (): void => {
      clearTimeout(timer);
      if (target.health === 'ready') target.health = 'gone'; // until the next check
      resolve(undefined);
    };
    connections.add(socket);
    socket.on('error', noteByClose);
    socket.once('close', refused);
    socket.once('close', () => connections.delete(socket));
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('close', refused);
      resolve(socket);
    });
  });
}

/** Bytes go both ways at the pace of whoever takes them; each side's end goes on to the other, and so does a broken connection. */
function join(client: Socket, upstream: Socket): void {
  client.pipe(upstream);
  upstream.pipe(client);
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    if (one.destroyed) other.destroySoon();
    else one.once('close', () => other.destroySoon());
  }
}

/** A broken connection closes, and what follows from that is done there. */
function noteByClose(): void {}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(host, port, cause)));
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}

import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands before a server, and does to its connections what happens to those of a function that was frozen for long. */
export type TcpProxy = {
  readonly url: string;
  /** Ends all connections there are, and says so. */
  reset(): void;
  /** Whatever comes on the connections there are gets no answer, as from a gateway that knows them no more. */
  forget(): void;
  /** Connections that were made so far. */
  connections(): number;
  close(): Promise<void>;
};

const LOCAL = '127.0.0.1';

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [client: Socket, server: Socket]>();
  let connections = 0;
  const proxy = createServer((client) => {
    connections += 1;
    const server = connect({ host: hostname, port: Number(port) });
    const pair = [client, server] as const;
    pairs.add(pair);
    for (const [one, other] of [pair, [server, client] as const]) {
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => (other.destroy(), pairs.delete(pair)));
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, LOCAL, resolve));
  return {
    url: `http://${LOCAL}:${(proxy.address() as AddressInfo).port}`,
    connections: () => connections,
    reset() {
      for (const [client] of pairs) client.resetAndDestroy();
    },
    forget() {
      for (const [client, server] of pairs) {
        client.unpipe(server);
        client.resume();
      }
    },
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      for (const [client] of pairs) client.destroy();
      await closed;
    },
  };
}

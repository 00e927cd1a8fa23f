import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFetchPeers } from '../../src/adapters/fetch/fetch-peers.ts';
import { createHttpPeers } from '../../src/adapters/peers/http-peers.ts';
import { createPeerSignatures } from '../../src/adapters/peers/signature.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createHttpServer } from '../../src/cli/http-server.ts';
import type { BrokerAddress } from '../../src/model/broker.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { CONNECTIONS_MAX, PEER_CONNECT_MS_MAX } from '../../src/model/limits.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { PeerOperation, Peers } from '../../src/ports/peers.ts';
import { createTestApp } from '../http/test-app.ts';
import { createPeerNetwork, type PeerTreatment } from '../simulation/peer-network.ts';
import { createOperations, describePeers, type PeersRig } from './peers.ts';
import { answer, closedEndpoint, cutAnswer, resetConnection, startStub, stuckAnswer, type Treatment } from './stub-server.ts';

const clock = createSystemClock();
const SECRET = 'secret-of-the-brokers';
const ID = 'broker-1' as BrokerId;
const HOUR_MS = 3_600_000;
const { signal: patient } = new AbortController();
const skewed = (ms: number): Clock => ({ ...clock, nowMs: () => clock.nowMs() + ms });

type Serving = {
  readonly broker: BrokerAddress;
  readonly connections: () => number;
  readonly untilReceived: PeersRig['untilReceived'];
  treat(treatment: PeerTreatment): void;
  stop(): Promise<void>;
};

/** A real broker's server, with these operations. */
async function serve(operations: Readonly<Record<string, PeerOperation>>, own: { secret?: string; clock?: Clock } = {}): Promise<Serving> {
  const { verify } = createPeerSignatures(own.secret ?? SECRET, own.clock ?? clock);
  const { app } = createTestApp({ change: () => ({ internal: { self: ID, operations, verify } }) });
  let treatment: PeerTreatment = 'answer';
  let received = 0;
  const sockets = new Set<unknown>();
  const waiting = new Set<() => void>();
  const server = createHttpServer(async (request, env) => {
    received += 1;
    sockets.add(env.incoming.socket);
    for (const look of waiting) look();
    if (treatment === 'hang') await once(env.outgoing, 'close');
    const response = await app.fetch(request, env);
    if (treatment === 'cut') env.incoming.socket.destroy();
    return response;
  });
  const port = await server.listen('127.0.0.1', 0);
  let url = `http://127.0.0.1:${port}`;
  const nobody = await closedEndpoint();
  const rig: Serving = {
    get broker() {
      return { id: ID, url };
    },
    connections: () => sockets.size,
    async untilReceived(count) {
      await new Promise<void>((resolve) => {
        const look = (): void => void (received >= count && resolve());
        waiting.add(look);
        look();
      });
    },
    treat(next) {
      treatment = next;
      if (next === 'refuse') url = nobody;
    },
    stop: () => server.close(),
  };
  return rig;
}

const rigOf =
  (peers: Peers) =>
  async ({ operations }: Parameters<Parameters<typeof describePeers>[1]>[0]): Promise<PeersRig> => {
    const serving = await serve(operations);
    return {
      ...serving,
      peers: { send: (request, signal) => peers.send({ ...request, broker: { ...serving.broker, id: request.broker.id } }, signal) },
    };
  };

describePeers('the network', rigOf(createHttpPeers({ clock, secret: SECRET })));
describePeers('the network by fetch', rigOf(createFetchPeers({ clock, secret: SECRET })), { ownSockets: false });

describePeers('the fake of simulations', async ({ operations }) => {
  const network = createPeerNetwork(clock);
  const broker = { id: ID, url: 'http://broker-1' };
  network.join(broker, operations);
  return {
    peers: network.peers,
    broker,
    treat: (treatment) => network.treat(ID, treatment),
    untilReceived: (count) =>
      expect
        .poll(() => network.received.length)
        .toBe(count)
        .then(() => undefined),
    stop: () => Promise.resolve(),
  };
});

describe('peers over the network', () => {
  const send = (url: string, operation = 'echo', options: { signal?: AbortSignal; clock?: Clock; secret?: string | string[] } = {}) =>
    createHttpPeers({ clock: options.clock ?? clock, secret: options.secret ?? SECRET }).send(
      { broker: { id: ID, url }, operation, body: [new Uint8Array([1])], timeoutMs: 5_000 },
      options.signal ?? patient,
    );
  const stub = async (treat: Treatment) => {
    const server = await startStub(treat);
    onTestFinished(() => server.stop());
    return server;
  };
  const serving = async (own: { secret?: string; clock?: Clock } = {}) => {
    const made = createOperations();
    const server = await serve(made.operations, own);
    onTestFinished(() => server.stop());
    return { ...server, broker: server.broker, seen: made.seen };
  };

  test('a thousand forwards take few connections, and one that is cancelled breaks nobody else’s', async () => {
    const server = await serving();
    const peers = createHttpPeers({ clock, secret: SECRET });
    const body = [new Uint8Array(1_000)];
    const leaver = new AbortController();
    const calls = Array.from({ length: 1_000 }, (_, n) => {
      const request = { broker: server.broker, operation: 'echo', body, timeoutMs: 10_000 };
      return peers.send(request, n % 10 === 0 ? leaver.signal : patient);
    });
    const settled = Promise.allSettled(calls);
    await server.untilReceived(50);
    leaver.abort(new Error('gone'));
    const results = await settled;
    for (const [n, result] of results.entries()) {
      if (n % 10 !== 0) expect(result).toMatchObject({ status: 'fulfilled', value: { status: 200 } });
    }
    expect(results.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
    expect(server.seen.length).toBeGreaterThanOrEqual(900);
    // Each cancelled one in flight costs its own connection.
    expect(server.connections()).toBeLessThanOrEqual(2 * CONNECTIONS_MAX);
  });

  test('one after the other, a hundred take one connection', async () => {
    const server = await serving();
    const peers = createHttpPeers({ clock, secret: SECRET });
    for (let n = 0; n < 100; n += 1) {
      const answered = await peers.send({ broker: server.broker, operation: 'echo', body: [], timeoutMs: 5_000 }, patient);
      expect(answered.status).toBe(200);
    }
    expect(server.connections()).toBe(1);
  });

  test('a publish that gets no connection in time was surely not received; a probe has one of its own', async () => {
    const server = await stub(() => undefined);
    const peers = createHttpPeers({ clock, secret: SECRET });
    const leaver = new AbortController();
    const request = { broker: { id: ID, url: server.endpoint }, body: [], timeoutMs: 10_000 };
    const hanging = Promise.allSettled(
      Array.from({ length: CONNECTIONS_MAX }, () => peers.send({ ...request, operation: 'publish' }, leaver.signal)),
    );
    await server.untilRequests(CONNECTIONS_MAX);
    const probe = peers.send({ ...request, operation: 'probe' }, leaver.signal).catch((error: unknown) => error);
    await server.untilRequests(CONNECTIONS_MAX + 1);
    const beganMs = clock.monotonicMs();
    await expect(peers.send({ ...request, operation: 'publish' }, patient)).rejects.toMatchObject({ code: 'peer-refused' });
    expect(clock.monotonicMs() - beganMs).toBeGreaterThan(PEER_CONNECT_MS_MAX - 50);
    expect(server.requests).toHaveLength(CONNECTIONS_MAX + 1);
    leaver.abort(new Error('gone'));
    for (const result of await hanging) expect(result).toMatchObject({ reason: { code: 'peer-indefinite' } });
    expect(await probe).toMatchObject({ code: 'peer-indefinite' });
  });

  test.for([
    [401, 'peer-refused'],
    [404, 'peer-refused'],
    [421, 'peer-refused'],
    [200, 'peer-indefinite'],
    [500, 'peer-indefinite'],
    [502, 'peer-indefinite'],
    [503, 'peer-indefinite'],
  ] as const)('an answer %s that no broker signs with its name is %s', async ([status, code]) => {
    const server = await stub(answer(status, '{}'));
    await expect(send(server.endpoint)).rejects.toMatchObject({ code });
    expect(server.requests).toHaveLength(1);
  });

  test('an answer that is cut, is reset, or never ends may mean anything', async () => {
    for (const treat of [cutAnswer(200, 'part'), resetConnection]) {
      const server = await stub(treat);
      await expect(send(server.endpoint)).rejects.toMatchObject({ code: 'peer-indefinite' });
    }
    const server = await stub(stuckAnswer(200, 'part'));
    const controller = new AbortController();
    const sent = send(server.endpoint, 'echo', { signal: controller.signal });
    await server.untilRequests(1);
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(sent).rejects.toMatchObject({ code: 'peer-indefinite', cause: reason });
  });

  test('nobody listens: refused at once; a url that is none, too', async () => {
    await expect(send(await closedEndpoint())).rejects.toMatchObject({ code: 'peer-refused' });
    for (const url of ['', 'broker-1', 'ftp://127.0.0.1', 'http://']) {
      await expect(send(url)).rejects.toMatchObject({ code: 'peer-refused' });
    }
  });

  test('whoever accepts and closes has received something, as far as anybody knows', async () => {
    const server = createServer((socket) => void socket.once('data', () => socket.destroy()));
    onTestFinished(() => void server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await expect(send(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'peer-indefinite' });
  });

  test.for([1, -1, 24])('J-29: a broker whose clock is %s h off is understood all the same', async (hours) => {
    const server = await serving();
    expect(await send(server.broker.url, 'echo', { clock: skewed(hours * HOUR_MS) })).toMatchObject({ status: 200 });
    expect(server.seen).toHaveLength(1);
  });

  test.for([1, -1])(
    'J-29: so is one whose clock is right by one that is %s h off, if its server says what time it is there',
    async (hours) => {
      const theirs = skewed(hours * HOUR_MS);
      const signatures = createPeerSignatures(SECRET, theirs);
      const server = await stub((response, { message }) => {
        const { method = '', url = '', headers } = message;
        const { 'kelp-broker': broker = '', 'kelp-signature': signature } = headers as Record<string, string>;
        const taken = signatures.verify({ method, path: url, broker, signature }) !== undefined;
        const own = { date: new Date(theirs.nowMs()).toUTCString(), ...(taken ? { 'kelp-broker': ID } : {}) };
        response.writeHead(taken ? 200 : 401, own).end();
      });
      const peers = createHttpPeers({ clock, secret: SECRET });
      const request = { broker: { id: ID, url: server.endpoint }, operation: 'echo', body: [], timeoutMs: 5_000 };
      for (let n = 0; n < 2; n += 1) expect(await peers.send(request, patient)).toMatchObject({ status: 200 });
      // The first one was sent twice; then the difference is known.
      expect(server.requests).toHaveLength(3);
    },
  );

  test('a clock that jumps while brokers talk is followed', async () => {
    const server = await serving();
    let offsetMs = 0;
    const jumping = { ...clock, nowMs: () => clock.nowMs() + offsetMs };
    const peers = createHttpPeers({ clock: jumping, secret: SECRET });
    for (const hours of [0, 1, -1, 5, 0]) {
      offsetMs = hours * HOUR_MS;
      expect(await peers.send({ broker: server.broker, operation: 'echo', body: [], timeoutMs: 5_000 }, patient)).toMatchObject({
        status: 200,
      });
    }
  });

  test('a wrong secret is refused after one attempt; the one before the current still counts', async () => {
    const server = await serving();
    await expect(send(server.broker.url, 'echo', { secret: 'another-secret-123' })).rejects.toMatchObject({ code: 'peer-refused' });
    expect(server.seen).toEqual([]);
    const both = await serving({ secret: SECRET });
    expect(await send(both.broker.url, 'echo', { secret: [SECRET, 'another-secret-123'] })).toMatchObject({ status: 200 });
  });
});

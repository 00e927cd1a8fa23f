import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttp, type RequestListener, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEntry, type Entry } from '../../infra/local/entry.ts';
import { candidates, createTarget } from '../../infra/local/entry-target.ts';

const TIMES = { checkMs: 20, silentMs: 200 };
/** Where the test itself keeps this one thread busy. */
const PATIENT = { ...TIMES, silentMs: 10_000 };
const BODY_BYTES = 24 * 1_048_576;
const HOST = '127.0.0.1';

/** What a toy broker answers to health checks; `hang`: it takes the connection and says nothing any more. */
type Health = 'ready' | 'stopping' | 'hang';

type Toy = {
  readonly port: number;
  health: Health;
  /** Connections other than health checks. */
  readonly taken: Socket[];
  close(): Promise<void>;
};

/** A toy broker: health checks are answered as told, every other connection is handed to `serve` with its first bytes. */
async function startToy(serve: (socket: Socket, first: Buffer) => void, port = 0): Promise<Toy> {
  const sockets = new Set<Socket>();
  const taken: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.once('data', (first) => {
      if (!first.toString('latin1').startsWith('GET /livez ')) {
        taken.push(socket);
        return serve(socket, first);
      }
      if (toy.health === 'hang') return;
      const body = toy.health === 'stopping' ? '{"status":"leaving"}' : '{"status":"ok"}';
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const toy: Toy = { port: (server.address() as AddressInfo).port, health: 'ready', taken, close };
  return toy;
}

const named =
  (name: string) =>
  (socket: Socket): void =>
    void socket.write(name);

let toys: Toy[];
let entry: Entry | undefined;
let port: number;
let clients: Socket[];

beforeEach(() => {
  toys = [];
  clients = [];
  entry = undefined;
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await entry?.close();
  for (const toy of toys) await toy.close();
});

async function enter(...brokers: Toy[]): Promise<void> {
  toys.push(...brokers);
  entry = createEntry(
    brokers.map((toy) => ({ host: HOST, port: toy.port })),
    TIMES,
  );
  port = await entry.listen(HOST, 0);
}

type Client = { readonly socket: Socket; readonly closed: Promise<void>; received(): Buffer };

/** Sends `first`. A client that is `patient` goes on sending after the other side has ended. */
function open(first: string | Buffer, patient = false): Client {
  const socket = createConnection({ host: HOST, port, allowHalfOpen: patient });
  const chunks: Buffer[] = [];
  clients.push(socket);
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(first);
  return { socket, closed, received: () => Buffer.concat(chunks) };
}

async function answerTo(first: string): Promise<string> {
  const client = open(first);
  await Promise.race([new Promise((resolve) => client.socket.once('data', resolve)), client.closed]);
  client.socket.destroy();
  return client.received().toString();
}

describe('the entry', () => {
  test('spreads connections over the brokers', async () => {
    await enter(await startToy(named('a')), await startToy(named('b')), await startToy(named('c')));
    const held = Array.from({ length: 9 }, () => open('hello'));
    await expect.poll(() => held.filter((client) => client.received().length > 0).length).toBe(9);
    await expect.poll(async () => (await answerTo('hello')).length).toBe(1);
    for (const { taken } of toys) expect(taken.length).toBeGreaterThanOrEqual(3);
  });

  test('passes over a broker that refuses connections, and finds it when it is back', async () => {
    const gone = await startToy(named('gone'));
    await gone.close();
    await enter(gone, await startToy(named('there')));
    expect(await Promise.all([answerTo('1'), answerTo('2'), answerTo('3')])).toEqual(['there', 'there', 'there']);
    const back = await startToy(named('back'), gone.port);
    toys.push(back);
    await expect.poll(() => answerTo('4')).toBe('back');
  });

  test('a broker that begins to refuse is passed over before the next check', async () => {
    const leaving = await startToy(named('leaving'));
    await enter(leaving, await startToy(named('there')));
    await expect.poll(() => answerTo('1')).toBe('leaving');
    await leaving.close();
    for (let n = 0; n < 10; n++) expect(await answerTo('2')).toBe('there');
  });

  test('gives no new connections to a broker that says that it stops, and leaves it those that it has', async () => {
    const echo = (socket: Socket, first: Buffer): void => {
      socket.write(first);
      socket.on('data', (chunk) => socket.write(chunk));
    };
    await enter(await startToy(echo), await startToy(echo));
    const kept = open('kept');
    await expect.poll(() => kept.received().toString()).toBe('kept');
    const stopping = toys.find(({ taken }) => taken.length === 1);
    if (stopping === undefined) throw new Error('nobody has taken it');
    stopping.health = 'stopping';
    const takenMeanwhile = async (): Promise<number> => {
      const before = stopping.taken.length;
      await Promise.all(Array.from({ length: 4 }, () => answerTo('x')));
      return stopping.taken.length - before;
    };
    await expect.poll(takenMeanwhile).toBe(0);
    kept.socket.write(' and more');
    await expect.poll(() => kept.received().toString()).toBe('kept and more');
  });

  test('when all of them stop, one of them still says so', async () => {
    await enter(await startToy(named('last words')));
    const [only] = toys;
    if (only !== undefined) only.health = 'stopping';
    for (let n = 0; n < 3; n++) expect(await answerTo('x')).toBe('last words');
  });

  test('a broker that stops answering loses its connections, and gets new ones only where nobody else is there', async () => {
    const halted = await startToy(named('halted'));
    await enter(halted);
    const stuck = open('request');
    await expect.poll(() => stuck.received().toString()).toBe('halted');
    halted.health = 'hang';
    await stuck.closed;
    // It may be awake by now.
    expect(await answerTo('x')).toBe('halted');
    const [silent, gone, leaving] = [1, 2, 3].map((n) => createTarget({ host: HOST, port: n }));
    if (silent === undefined || gone === undefined || leaving === undefined) throw new Error('three were made');
    silent.health = 'silent';
    leaving.health = 'leaving';
    expect(candidates([silent, leaving, gone])).toEqual([gone, leaving, silent]);
  });

  test('with nobody there, a connection is closed and the entry lives on', async () => {
    const gone = await startToy(named('gone'));
    await gone.close();
    await enter(gone);
    expect(await answerTo('x')).toBe('');
    toys.push(await startToy(named('back'), gone.port));
    await expect.poll(() => answerTo('x')).toBe('back');
  });

  test('a broker that ends in the middle of an answer ends its connection, with what it had sent', async () => {
    await enter(
      await startToy((socket) => {
        socket.write('half of', () => socket.destroy());
      }),
    );
    const client = open('x');
    await client.closed;
    expect(client.received().toString()).toBe('half of');
  });

  test('a client that ends in the middle of its request ends the connection to the broker', async () => {
    const broker = await startToy(() => undefined);
    await enter(broker);
    const client = open('half of');
    await expect.poll(() => broker.taken.length).toBe(1);
    const [upstream] = broker.taken;
    upstream?.resume();
    client.socket.resetAndDestroy();
    await expect.poll(() => upstream?.readableEnded).toBe(true);
  });

  test('a client that has ended its side is answered all the same', async () => {
    await enter(
      await startToy((socket, first) => {
        let text = first.toString();
        socket.on('data', (chunk) => (text += chunk.toString()));
        socket.on('end', () => socket.end(`you said: ${text}`));
      }),
    );
    const client = open('all of it');
    client.socket.end();
    await client.closed;
    expect(client.received().toString()).toBe('you said: all of it');
  });

  test('a broker that has ended its side still gets the rest of the request', async () => {
    let text = '';
    await enter(
      await startToy((socket, first) => {
        text += first.toString();
        socket.on('data', (chunk) => (text += chunk.toString()));
        socket.end('no need for the rest');
      }),
    );
    const client = open('first ', true);
    await once(client.socket, 'end');
    client.socket.end('and last');
    await expect.poll(() => text).toBe('first and last');
  });

  test('closing it cuts what is left', async () => {
    await enter(await startToy(named('x')));
    const client = open('x');
    await expect.poll(() => client.received().length).toBe(1);
    await entry?.close();
    await client.closed;
    expect(client.socket.destroyed).toBe(true);
    entry = undefined;
  });
});

describe('large bodies', () => {
  let broker: HttpServer | undefined;
  afterEach(() => void broker?.close());

  async function enterHttp(answer: RequestListener): Promise<string> {
    broker = createHttp((incoming, outgoing) => (incoming.url === '/' ? answer(incoming, outgoing) : outgoing.end()));
    broker.listen(0, HOST);
    await once(broker, 'listening');
    entry = createEntry([{ host: HOST, port: (broker.address() as AddressInfo).port }], PATIENT);
    port = await entry.listen(HOST, 0);
    return `http://${HOST}:${port}/`;
  }

  test('go through both ways unchanged', async () => {
    const url = await enterHttp((incoming, outgoing) => void incoming.pipe(outgoing));
    const body = randomBytes(BODY_BYTES);
    const answer = await fetch(url, { method: 'POST', body });
    const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
    expect(hash(new Uint8Array(await answer.arrayBuffer()))).toBe(hash(body));
  });

  test('wait in the broker when the client does not read', async () => {
    let sent = 0;
    const url = await enterHttp((_, outgoing) => {
      const chunk = Buffer.alloc(65_536);
      const more = (): void => {
        while (sent < BODY_BYTES * 4) {
          sent += chunk.length;
          if (!outgoing.write(chunk)) return;
        }
        outgoing.end();
      };
      outgoing.on('drain', more);
      more();
    });
    const client = createConnection({ host: HOST, port });
    clients.push(client);
    client.pause();
    client.write(`GET ${new URL(url).pathname} HTTP/1.1\r\nHost: kelp\r\n\r\n`);
    let before = -1;
    await expect.poll(() => [sent > 0, sent === before, (before = sent)][1], { interval: 300, timeout: 10_000 }).toBe(true);
    expect(sent).toBeLessThan(BODY_BYTES * 2);
  });
});

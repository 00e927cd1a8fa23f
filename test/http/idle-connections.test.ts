import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createHttpServer } from '../../src/cli/http-server.ts';
import { openRaw, type RawConnection } from '../cli/raw-http.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, TOKEN } from './test-app.ts';

/** The server's idle time. The buffer is what Node adds to it for clients that go by the time it announces; these don't. */
const IDLE_MS = 300;
const LIMITS = { keepAliveTimeout: IDLE_MS, keepAliveTimeoutBuffer: 0 };
const PAUSES_MS = Array.from({ length: 21 }, (_, n) => IDLE_MS - 50 + n * 5);
const CLIENTS = 6;
const ATTEMPTS_MAX = 5;

test('J-17 (a) publishes as the server closes idle connections: each acknowledged in the end, and stored once', async () => {
  const t = createTestApp();
  const server = createHttpServer((request, env) => t.app.fetch(request, env), LIMITS);
  const port = await server.listen('127.0.0.1', 0);
  const logs = await Promise.all(Array.from({ length: CLIENTS }, () => openLog(t)));
  const clients = logs.map((log) => createClient(port, log));
  try {
    await Promise.all(clients.map(publishAll));
    for (const log of logs) {
      expect((await log.messages()).map(({ text }) => text)).toEqual(
        Array.from({ length: PAUSES_MS.length + 1 }, (_, n) => `message ${n}`),
      );
    }
    // The server has closed connections: otherwise nothing was tested.
    for (const client of clients) expect(client.opened()).toBeGreaterThan(1);
  } finally {
    for (const client of clients) client.close();
    await server.close();
  }
});

async function publishAll(client: Client): Promise<void> {
  await client.publish(0);
  for (const [n, ms] of PAUSES_MS.entries()) {
    await pause(ms);
    await client.publish(n + 1);
  }
}

type Client = {
  /** Resolves once message number `n` is acknowledged, at the offset that it must have. */
  publish(n: number): Promise<void>;
  /** Connections so far. */
  opened(): number;
  close(): void;
};

/** A producer with one connection, used again for as long as it seems to be open; what was not answered is sent again. */
function createClient(port: number, log: Log): Client {
  let opened = 0;
  let raw: RawConnection | undefined;
  async function connection(): Promise<RawConnection> {
    if (raw !== undefined && !raw.socket.closed) return raw;
    opened += 1;
    raw = await openRaw(port);
    return raw;
  }
  return {
    async publish(n) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
        const on = await connection();
        const acked = on.until(`{"results":[{"segment":"${log.segment}","offset":${n}}]}`);
        on.write(requestOf(log, n));
        if (await acked.then(() => true, isClosed(on))) return;
      }
      throw new Error(`message ${n} is not acknowledged: ${raw?.received() ?? ''}`);
    },
    opened: () => opened,
    close: () => raw?.socket.destroy(),
  };
}

/** Whoever waits for an answer is told of the connection's end by an error, and by nothing else. */
const isClosed =
  ({ socket }: RawConnection) =>
  (error: unknown): false => {
    if (socket.closed) return false;
    throw error;
  };

function requestOf(log: Log, n: number): string {
  const json = JSON.stringify(one({ key: 'a', text: `message ${n}` }));
  const headers = [
    'Host: kelp',
    `Authorization: Bearer ${TOKEN}`,
    'Content-Type: application/json',
    `Content-Length: ${json.length}`,
    `Kelp-Segment: ${log.segment}`,
    'Kelp-Producer-Id: p',
    'Kelp-Producer-Epoch: 0',
    `Kelp-Producer-Sequence: ${n}`,
  ];
  return `POST /v1/topics/${log.topic}/messages HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${json}`;
}

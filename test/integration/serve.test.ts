import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRaw } from '../cli/raw-http.ts';
import { type OwnStack, startOwnStack } from '../own-stack.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { callerOf, ROOT_TOKEN, runServe, type Served } from './run-serve.ts';

const STOP_MS_MAX = 10_000;
const POLL = { timeout: 8_000 };

async function onSharedStack(use: (served: Served) => Promise<void>): Promise<void> {
  const served = await runServe({ store: sharedStack().store, table: await freshTable('dynoxide', AbortSignal.timeout(10_000)) });
  try {
    await use(served);
  } finally {
    served.signal('SIGTERM');
    const { code, errors } = await served.exited;
    expect(code).toBe(0);
    expect(errors).not.toMatch(/"level":"(warn|error)"|^kelp:/m);
  }
}

function pidOf({ dir }: OwnStack, name: string): number {
  const pids = JSON.parse(readFileSync(join(dir, 'pids.json'), 'utf8')) as { name: string; pid: number }[];
  return pids.find((entry) => entry.name === name)?.pid ?? 0;
}

test('a stop lets publishes in flight end, and refuses new ones', async () => {
  const own = await startOwnStack();
  try {
    const served = await runServe(own);
    const call = callerOf(served);
    expect((await call('PUT', '/v1/topics/t', { partitionKey: 'key' })).status).toBe(201);
    // The store is halted, so that the publish is in flight for as long as the test wants.
    process.kill(pidOf(own, 'weed'), 'SIGSTOP');
    const inFlight = call('POST', '/v1/topics/t/messages', { messages: [{ key: 'a', text: 'in flight' }] });
    // The publish was sent before these, which have been answered.
    for (let n = 0; n < 3; n++) expect((await call('GET', '/v1/topics/t')).status).toBe(200);
    const waiting = call('GET', '/v1/topics/t/messages?waitMs=25000');
    const beganMs = performance.now();
    served.signal('SIGTERM');
    // Every answer of a server that stops is the last one of its connection.
    await expect.poll(async () => (await call('GET', '/livez')).headers.get('connection'), POLL).toBe('close');
    // Until its segments are elsewhere it serves on; whoever waits is answered when nothing new is taken any more.
    expect(await (await waiting).json()).toMatchObject({ messages: [] });
    const late = await call('POST', '/v1/topics/t/messages', { messages: [{ key: 'a', text: 'late' }] });
    expect(late.status).toBe(503);
    expect(late.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    process.kill(pidOf(own, 'weed'), 'SIGCONT');
    expect(await (await inFlight).json()).toMatchObject({ results: [{ offset: 0 }] });
    expect((await served.exited).code).toBe(0);
    expect(performance.now() - beganMs).toBeLessThan(STOP_MS_MAX);

    const again = await runServe(own);
    const read = await callerOf(again)('GET', '/v1/topics/t/messages?cursor=earliest');
    expect(await read.json()).toMatchObject({ messages: [{ offset: 0, text: 'in flight' }] });
    again.signal('SIGTERM');
    await again.exited;
  } finally {
    await own.stop();
  }
});

test('a stop answers readers that wait', () =>
  onSharedStack(async (served) => {
    const call = callerOf(served);
    await call('PUT', '/v1/topics/t', { partitionKey: 'key' });
    const waiting = call('GET', '/v1/topics/t/segments/s0000000/messages?offset=0&waitMs=25000');
    for (let n = 0; n < 3; n++) expect((await call('GET', '/v1/topics/t')).status).toBe(200);
    served.signal('SIGTERM');
    expect(await (await waiting).json()).toMatchObject({ messages: [], nextOffset: 0 });
  }));

test('Expect: 100-continue is answered by the verdict on the headers', () =>
  onSharedStack(async (served) => {
    await callerOf(served)('PUT', '/v1/topics/t', { partitionKey: 'key' });
    const ask = async (length: number, token: string): Promise<Awaited<ReturnType<typeof openRaw>>> => {
      const raw = await openRaw(Number(new URL(served.url).port));
      const headers = `Host: kelp\r\nAuthorization: Bearer ${token}\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\nExpect: 100-continue`;
      raw.write(`POST /v1/topics/t/message?key=a HTTP/1.1\r\n${headers}\r\n\r\n`);
      return raw;
    };
    const welcome = await ask(2_000, ROOT_TOKEN);
    await welcome.until('HTTP/1.1 100 Continue\r\n\r\n');
    welcome.write('x'.repeat(2_000));
    await welcome.until('"offset":0');
    welcome.socket.destroy();
    expect(await (await ask(2_000_000, ROOT_TOKEN)).ended()).toMatch(/^HTTP\/1\.1 413 /);
    expect(await (await ask(2_000, 'another-token-of-the-test')).ended()).toMatch(/^HTTP\/1\.1 401 /);
  }));

test('repeated Kelp-Header lines are headers of their own', () =>
  onSharedStack(async (served) => {
    const call = callerOf(served);
    await call('PUT', '/v1/topics/t', { partitionKey: 'key' });
    const raw = await openRaw(Number(new URL(served.url).port));
    const lines = ['Host: kelp', `Authorization: Bearer ${ROOT_TOKEN}`, 'Content-Length: 1', 'Kelp-Header-a: 1', 'Kelp-Header-a: 2,3'];
    raw.write(`POST /v1/topics/t/message?key=a HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Type: text/plain\r\n\r\nx`);
    await raw.until('"offset":0');
    raw.socket.destroy();
    const read = (await (await call('GET', '/v1/topics/t/messages?cursor=earliest')).json()) as { messages: { headers: unknown }[] };
    expect(read.messages[0]?.headers).toEqual(
      expect.arrayContaining([
        ['a', '1'],
        ['a', '2,3'],
      ]),
    );
  }));

test('a broker whose log is on a full disk serves on', async () => {
  const full = openSync('/dev/full', 'w');
  const table = await freshTable('dynoxide', AbortSignal.timeout(10_000));
  const served = await runServe({ store: sharedStack().store, table, log: full });
  try {
    const call = callerOf(served);
    // It has said that it leads.
    await expect.poll(async () => (await call('GET', '/v1/leader')).status, POLL).toBe(200);
    expect((await call('GET', '/livez')).status).toBe(200);
  } finally {
    served.signal('SIGTERM');
    expect((await served.exited).code).toBe(0);
    closeSync(full);
  }
});

import { Agent, createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { call, type Reply } from '../clients/call.ts';
import { type Fault, type FaultProxy, startFaultProxy } from './fault-proxy.ts';

let server: Server;
let proxy: FaultProxy;
let agent: Agent;
let arrived: string[];

beforeEach(async () => {
  arrived = [];
  server = createServer((incoming, outgoing) => {
    arrived.push(`${incoming.method} ${incoming.url} ${incoming.headers.host}`);
    incoming.resume().once('end', () => outgoing.writeHead(201, { 'x-own': 'kept' }).end('the answer'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy = await startFaultProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  agent = new Agent();
});

afterEach(async () => {
  agent.destroy();
  await proxy.close();
  await new Promise((resolve) => server.close(resolve));
});

const ask = (path = '/a'): Promise<Reply> =>
  call({ url: `${proxy.url}${path}`, agent, method: 'PUT', headers: {}, body: 'body', waitMs: 5_000 });
const plant = (fault: Fault) => proxy.plant({ matches: ({ path }) => path === '/a', fault });

describe('a fault proxy', () => {
  test('passes on what no fault strikes, under the name it was sent to', async () => {
    const dropping = plant({ kind: 'drop' });
    expect(await ask('/b')).toMatchObject({ status: 201, headers: { 'x-own': 'kept' }, text: 'the answer' });
    expect(arrived).toEqual([`PUT /b ${new URL(proxy.url).host}`]);
    expect(dropping.times()).toBe(0);
  });

  test('counts: from the second one, two of them', async () => {
    const planted = proxy.plant({ matches: () => true, fault: { kind: 'answer', status: 503, body: '' }, from: 2, count: 2 });
    const statuses: unknown[] = [];
    for (let i = 0; i < 4; i += 1) statuses.push(await ask());
    expect(statuses).toMatchObject([{ status: 201 }, { status: 503 }, { status: 503 }, { status: 201 }]);
    expect(planted.times()).toBe(2);
  });

  test.each([
    ['drop', 0],
    ['lose-answer', 1],
    ['late', 1],
  ] as const)('%s: no answer, and %i requests arrive', async (kind, requests) => {
    const planted = plant({ kind });
    expect(await ask()).toMatchObject({ answered: false, sent: true });
    await planted.struck;
    expect(arrived).toHaveLength(requests);
  });

  test('cut-answer: half of it', async () => {
    plant({ kind: 'cut-answer' });
    expect(await ask()).toMatchObject({ answered: false, sent: true });
    expect(arrived).toHaveLength(1);
  });

  test('hold: arrives only when it is let go', async () => {
    const planted = plant({ kind: 'hold' });
    const asked = ask();
    await planted.struck;
    expect(arrived).toEqual([]);
    planted.end();
    expect(await asked).toMatchObject({ status: 201 });
  });

  test('hold: never arrives if its sender has gone', async () => {
    const planted = plant({ kind: 'hold' });
    const asked = ask();
    await planted.struck;
    agent.destroy();
    expect(await asked).toMatchObject({ answered: false });
    expect(await ask('/b')).toMatchObject({ status: 201 });
    planted.end();
    expect(await ask('/c')).toMatchObject({ status: 201 });
    expect(arrived).toHaveLength(2);
  });

  test('hold-answer: has arrived while the answer waits', async () => {
    const planted = plant({ kind: 'hold-answer' });
    const asked = ask();
    await planted.struck;
    expect(arrived).toHaveLength(1);
    planted.end();
    expect(await asked).toMatchObject({ status: 201, text: 'the answer' });
  });

  test('answer: of its own, the request arriving or not', async () => {
    const planted = plant({ kind: 'answer', status: 500, body: 'no' });
    expect(await ask()).toMatchObject({ status: 500, text: 'no' });
    expect(arrived).toHaveLength(0);
    planted.end();
    plant({ kind: 'answer', status: 500, body: 'no', forwarded: true });
    expect(await ask()).toMatchObject({ status: 500, text: 'no' });
    expect(arrived).toHaveLength(1);
  });

  test('delay: arrives later', async () => {
    const planted = plant({ kind: 'delay', ms: 1 });
    expect(await ask()).toMatchObject({ status: 201 });
    expect(planted.times()).toBe(1);
  });
});

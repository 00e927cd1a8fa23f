import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createFetchExchange } from '../../../src/adapters/fetch/fetch-exchange.ts';
import type { Answer, ExchangeRequest } from '../../../src/adapters/signed-http/exchange.ts';
import { against, answer, type Stub, type Treatment } from '../../conformance/stub-server.ts';

// What `fetch` does by itself, and an adapter must not.

const { signal } = new AbortController();
const GET: ExchangeRequest = { method: 'GET', target: '/a%2Fb?x=%27', headers: {}, body: [], answerBytesMax: 100 };

async function exchangeWith(treat: Treatment): Promise<{ server: Stub; send(own?: Partial<ExchangeRequest>): Promise<Answer> }> {
  const { client: exchange, server } = await against((endpoint) => createFetchExchange(new URL(endpoint)), treat);
  return { server, send: (own = {}) => exchange({ ...GET, ...own }, signal) };
}

describe('an exchange by fetch', () => {
  test('the target is sent as it was signed, and the runtime says host and length by itself', async () => {
    const { server, send } = await exchangeWith(answer(200, 'ok'));
    const body = [Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)];
    await send();
    await send({ method: 'PUT', headers: { host: 'elsewhere', 'content-length': '7', 'x-own': 'yes' }, body });
    const [get, put] = server.requests;
    expect([get?.message.url, get?.body.length]).toEqual(['/a%2Fb?x=%27', 0]);
    expect(put?.message.headers).toMatchObject({ 'content-length': '3', 'x-own': 'yes', 'accept-encoding': 'identity' });
    expect([put?.message.headers.host, put?.body]).toEqual([new URL(server.endpoint).host, Buffer.of(1, 2, 3)]);
  });

  test('an answer of the greatest length is whole, and a longer one has failed', async () => {
    const { send } = await exchangeWith(answer(200, 'x'.repeat(100)));
    expect((await send()).body).toEqual(new Uint8Array(100).fill(120));
    await expect(send({ answerBytesMax: 99 })).rejects.toMatchObject({ name: 'ExchangeFailure', sent: true });
  });

  test('a redirection is an answer: its target has no signature of ours', async () => {
    const { server, send } = await exchangeWith((response) => response.writeHead(307, { location: '/elsewhere' }).end());
    expect((await send()).status).toBe(307);
    expect(server.requests).toHaveLength(1);
  });

  test('a checksum counts for bytes that came as they are, and not for those that the runtime has unpacked', async () => {
    const checksum = { 'x-amz-crc32': '1' };
    const plain = await exchangeWith(answer(200, 'ok', checksum));
    expect((await plain.send()).headers).toMatchObject(checksum);
    const zipped = await exchangeWith((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip', ...checksum }).end(gzipSync('ok')),
    );
    const { headers, body } = await zipped.send();
    expect([headers['x-amz-crc32'], Buffer.from(body).toString()]).toEqual([undefined, 'ok']);
  });
});

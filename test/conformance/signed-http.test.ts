import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createServiceClock } from '../../src/adapters/signed-http/service-clock.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { CONNECTIONS_MAX, TABLE_ANSWER_BYTES_MAX } from '../../src/model/limits.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { freshPrefix, sharedStack } from '../stack.ts';
import { type Stub, type Treatment, against, answer } from './stub-server.ts';

// What the signed requests do and the SDK does not, or not so well.

const { signal } = new AbortController();
const KEY = { pk: 'p', sk: 's' };
const NO_CHANGE = { condition: [], changes: [] };
const ITEM_JSON = '{"Attributes":{"a":{"N":"1"}}}';
const clock = createSystemClock();
const HOUR_MS = 3_600_000;

describe('signed requests', () => {
  async function tableAt(treat: Treatment): Promise<{ table: MetadataTable; server: Stub; pass: (ms: number) => void }> {
    let passedMs = 0;
    const own = { ...clock, nowMs: () => clock.nowMs() + passedMs };
    const access = { table: 'kelp', region: 'us-east-1', accessKey: 'access', secretKey: 'secret', clock: own };
    const { client: table, server } = await against((endpoint) => createLeanTable({ ...access, endpoint }), treat);
    return { table, server, pass: (ms) => void (passedMs += ms) };
  }

  test('a write that still waits for a connection is given up with the reason: it was surely not applied', async () => {
    const { table, server } = await tableAt(() => undefined);
    const controller = new AbortController();
    const reason = new Error('deadline');
    const calls = Array.from({ length: CONNECTIONS_MAX + 1 }, () => table.update(KEY, NO_CHANGE, controller.signal));
    const settled = Promise.allSettled(calls);
    await server.untilRequests(CONNECTIONS_MAX);
    controller.abort(reason);
    const results = await settled;
    expect(results.at(-1)).toEqual({ status: 'rejected', reason });
    for (const result of results.slice(0, -1)) expect(result).toMatchObject({ reason: { kind: 'indefinite', cause: reason } });
    expect(server.requests).toHaveLength(CONNECTIONS_MAX);
  });

  test('a waiting call that was given up takes no connection from the others', async () => {
    const answers: (() => void)[] = [];
    const { table, server } = await tableAt((response) => void answers.push(() => response.end(ITEM_JSON)));
    const busy = Array.from({ length: CONNECTIONS_MAX }, () => table.update(KEY, NO_CHANGE, signal));
    const controller = new AbortController();
    const given = Promise.allSettled(Array.from({ length: 100 }, () => table.update(KEY, NO_CHANGE, controller.signal)));
    const patient = table.update(KEY, NO_CHANGE, signal);
    await server.untilRequests(CONNECTIONS_MAX);
    controller.abort();
    await given;
    for (const respond of answers.splice(0)) respond();
    await Promise.all(busy);
    await server.untilRequests(CONNECTIONS_MAX + 1);
    for (const respond of answers) respond();
    expect(await patient).toMatchObject({ applied: true });
    expect(server.requests).toHaveLength(CONNECTIONS_MAX + 1);
  });

  test('an answer with a checksum is believed if it is right', async () => {
    const right = await tableAt(answer(200, ITEM_JSON, { 'x-amz-crc32': String(crc32(ITEM_JSON)) }));
    expect(await right.table.update(KEY, NO_CHANGE, signal)).toEqual({ applied: true, item: { a: 1 } });
    const wrong = await tableAt(answer(200, ITEM_JSON, { 'x-amz-crc32': String(crc32(ITEM_JSON) ^ 1) }));
    await expect(wrong.table.update(KEY, NO_CHANGE, signal)).rejects.toMatchObject({ kind: 'indefinite' });
    await expect(wrong.table.get(KEY, signal)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('an endless answer is cut off', async () => {
    const { table } = await tableAt(answer(200, ' '.repeat(TABLE_ANSWER_BYTES_MAX + 1)));
    await expect(table.get(KEY, signal)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('a connection that the server has closed in the meantime is not used again', async () => {
    const { table, server } = await tableAt((response) => response.writeHead(200, { connection: 'close' }).end(ITEM_JSON));
    for (let call = 0; call < 3; call++) expect(await table.update(KEY, NO_CHANGE, signal)).toMatchObject({ applied: true });
    expect(server.connections()).toBe(3);
  });

  test('a connection that the other side forgot while this one was frozen is not used again: the wall clock alone says that it was', async () => {
    const known = new Set<unknown>();
    const { table, server, pass } = await tableAt((response, { message }) => {
      if (!known.has(message.socket)) response.end(ITEM_JSON);
      known.add(message.socket);
    });
    for (let call = 1; call <= 3; call++) {
      expect(await table.update(KEY, NO_CHANGE, AbortSignal.timeout(5_000))).toMatchObject({ applied: true });
      expect([server.connections(), server.requests.length]).toEqual([call, call]);
      pass((-1) ** call * HOUR_MS);
    }
  });

  test('a refusal is not repeated, though the clock is off', async () => {
    const failed = '{"__type":"x#ConditionalCheckFailedException"}';
    const { table, server } = await tableAt(answer(400, failed, { date: new Date(Date.now() + HOUR_MS).toUTCString() }));
    expect(await table.update(KEY, NO_CHANGE, signal)).toEqual({ applied: false, item: undefined });
    expect(server.requests).toHaveLength(1);
  });

  test('a wrong key is refused after one attempt', async () => {
    const fault = '{"__type":"x#InvalidSignatureException"}';
    const { table, server } = await tableAt(answer(400, fault));
    await expect(table.get(KEY, signal)).rejects.toMatchObject({ code: 'table-refused' });
    expect(server.requests).toHaveLength(1);
  });

  test.for([1, -1])('a clock that is %s h off does not shut us out of SeaweedFS', async (hours) => {
    const skewed = { ...clock, nowMs: () => clock.nowMs() + hours * HOUR_MS };
    const store = createLeanStore({ ...sharedStack().store, clock: skewed });
    const key = `${freshPrefix()}/skewed`;
    await store.put(key, [new Uint8Array([1, 2])], signal);
    expect(await store.getRange(key, 0, 10, signal)).toEqual(new Uint8Array([1, 2]));
    // Its own first call: a HEAD's refusal has no reason with it.
    expect(await createLeanStore({ ...sharedStack().store, clock: skewed }).head(key, signal)).toEqual({ bytes: 2, sha256: undefined });
  });

  test.for([1, -1])('of a clock that is %s h off, what is signed for others is right once the store has told its time', async (hours) => {
    const skewed = { ...clock, nowMs: () => clock.nowMs() + hours * HOUR_MS };
    const serviceClock = createServiceClock(skewed);
    const store = createLeanStore({ ...sharedStack().store, clock: skewed, serviceClock });
    const key = `${freshPrefix()}/skewed`;
    const presigner = createPresigner({ ...sharedStack().store, clock: serviceClock });
    const get = async (): Promise<number> => (await fetch(presigner.get(key, HOUR_MS / 4).url)).status;
    // SeaweedFS takes what is signed for later; S3 doesn't.
    expect(await get()).toBe(hours < 0 ? 403 : 404);
    await store.put(key, [new Uint8Array(1)], signal);
    expect(await get()).toBe(200);
    expect(Math.abs(serviceClock.nowMs() - clock.nowMs())).toBeLessThan(60_000);
  });

  test('a HEAD that is forbidden is asked once where the clock is right, and twice where it is off', async () => {
    for (const [offMs, requests] of [
      [0, 1],
      [HOUR_MS, 2],
    ] as const) {
      const treat = answer(403, '', { date: new Date(Date.now() + offMs).toUTCString() });
      const access = { bucket: 'kelp', region: 'us-east-1', accessKey: 'access', secretKey: 'secret', clock };
      const { client: store, server } = await against((endpoint) => createLeanStore({ ...access, endpoint }), treat);
      await expect(store.head('a/b', signal)).rejects.toMatchObject({ kind: 'unavailable' });
      expect(server.requests).toHaveLength(requests);
    }
  });

  test('a clock that jumps does not either', async () => {
    let offsetMs = 0;
    const store = createLeanStore({ ...sharedStack().store, clock: { ...clock, nowMs: () => clock.nowMs() + offsetMs } });
    const key = `${freshPrefix()}/jumping`;
    for (const hours of [0, 1, -1, 5, 0]) {
      offsetMs = hours * HOUR_MS;
      await store.put(key, [new Uint8Array([hours + 1])], signal);
      expect(await store.getRange(key, 0, 1, signal)).toEqual(new Uint8Array([hours + 1]));
    }
  });
});

import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { closedEndpoint } from '../conformance/stub-server.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { buildFunctions, type BuiltFunctions, functionVariables } from './built-functions.ts';
import { type EdgeWorker, readWrangler, startEdge } from './edge-worker.ts';
import { type FaultProxy, type Passing, startFaultProxy } from './fault-proxy.ts';
import { goThrough } from './http-scenario.ts';
import { isCommit } from './proxied-requests.ts';
import { createRealArchive } from './real-archive.ts';
import { runServe } from './run-serve.ts';

// The bundle that is deployed, in the runtime that it is deployed to, on real stores.

const TEST_MS = 60_000;
const TEXT = { 'content-type': 'text/plain' };
let built: BuiltFunctions;
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterAll(() => built.remove());

const variablesOf = (table: TableAddress): Record<string, string> => functionVariables(sharedStack().store, table);

async function start(table: TableAddress, own: Readonly<Record<string, string>> = {}): Promise<EdgeWorker> {
  const worker = await startEdge(built.file('edge'), { ...variablesOf(table), ...own });
  onTestFinished(() => worker.stop());
  return worker;
}

const freshDynoxide = (): Promise<TableAddress> => freshTable('dynoxide', AbortSignal.timeout(TEST_MS));

describe.each(['dynoxide', 'ministack'] as const)('on SeaweedFS and %s', (kind) => {
  test(
    'the main ways, once through',
    async () => {
      const { send } = await start(await freshTable(kind, AbortSignal.timeout(TEST_MS)));
      expect(await goThrough(send, `edge-${kind}`)).toBe(9);
    },
    TEST_MS,
  );
});

describe('at the edge', () => {
  let table: TableAddress;
  let edge: EdgeWorker;
  beforeAll(async () => {
    table = await freshDynoxide();
    edge = await startEdge(built.file('edge'), variablesOf(table));
  }, TEST_MS);
  afterAll(() => edge.stop());

  async function topic(name: string): Promise<string> {
    const path = `/v1/topics/${name}`;
    await edge.send('PUT', path, { body: { partitionKey: 'key' } });
    return path;
  }
  const publish = (path: string, body: string) => edge.send('POST', `${path}/message?key=a`, { body, headers: TEXT });

  test('J-20 a poll that waits ends with what another request has published', async () => {
    const path = await topic('polled');
    const polls = [edge.send('GET', `${path}/messages?waitMs=5000`), edge.send('GET', `${path}/segments/s0000000/messages?waitMs=5000`)];
    await publish(path, 'x');
    for (const poll of polls) expect((await poll).json.messages).toMatchObject([{ text: 'x' }]);
  });

  test('a poll in which nothing comes is empty, at the latest after five seconds', async () => {
    const path = await topic('quiet');
    const beganMs = performance.now();
    expect((await edge.send('GET', `${path}/messages?waitMs=25000`)).json.messages).toEqual([]);
    expect(performance.now() - beganMs).toBeLessThan(15_000);
    expect((await edge.send('GET', '/v1')).json.limits.waitMs).toBe(5_000);
  });

  test('requests at once in one worker share nothing, and each gets its answer', async () => {
    const path = await topic('many');
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => publish(path, String(n))));
    expect(answers.map(({ json }) => json.offset as number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    // More than a head holds: what was moved behind the answers is read like the rest.
    const { messages } = (await edge.send('GET', `${path}/messages`)).json;
    expect(answers.map(({ json }) => messages[json.offset].text)).toEqual(answers.map((_, n) => String(n)));
    expect(edge.log.filter((line) => /different request|never complete|hung/i.test(line))).toEqual([]);
  });

  test('old messages are read from files, by the runtime’s own zstd', async () => {
    const path = await topic('old');
    const texts = Array.from({ length: 30 }, (_, n) => `${n} ${'text '.repeat(n * 400)}`);
    for (const text of texts) await publish(path, text);
    const real = createRealArchive({ store: sharedStack().store, table });
    await real.archive(1_000_000);
    await real.collect((await edge.send('GET', path)).json.id, ['s0000000' as SegmentId]);
    const { messages } = (await edge.send('GET', `${path}/messages`)).json;
    expect(messages.map(({ text }: { text: string }) => text)).toEqual(texts);
    const headers = { accept: 'application/vnd.kelp.batch' };
    const batches = [...splitBatches((await edge.send('GET', `${path}/segments/s0000000/messages?offset=4`, { headers })).bytes)];
    expect(batches.reduce((sum, { header }) => sum + header.count, 0)).toBe(26);
  });

  test('a stream of events ends with its first page, and goes on from its last id', async () => {
    const path = await topic('events');
    await publish(path, 'one');
    const accept = { accept: 'text/event-stream' };
    const first = await edge.send('GET', `${path}/messages`, { headers: accept });
    expect(first.text.match(/^data: /gm)).toHaveLength(1);
    const id = /^id: (.+)$/m.exec(first.text)?.[1] ?? '';
    await publish(path, 'two');
    const second = await edge.send('GET', `${path}/messages`, { headers: { ...accept, 'last-event-id': id } });
    expect(second.text).toContain('two');
    expect(second.text).not.toContain('one');
  });

  test.for([
    ['zstd', zstdCompressSync],
    ['gzip', gzipSync],
  ] as const)('%s by the runtime’s own library: damage, what stands behind, and what is too much are refused', async ([encoding, pack]) => {
    const path = await topic(`packed-${encoding}`);
    const post = (body: Uint8Array) =>
      edge.send('POST', `${path}/message?key=a`, { body, headers: { ...TEXT, 'content-encoding': encoding } });
    const packed = pack('text'.repeat(100));
    expect((await post(packed)).status).toBe(200);
    for (const bad of [packed.subarray(0, -4), Buffer.concat([packed, Buffer.from('behind')]), Buffer.from('no such thing')]) {
      expect((await post(bad)).json.code).toBe('invalid-compression');
    }
    expect((await post(pack(Buffer.alloc(5_000_000)))).json.code).toBe('too-large');
  });

  test('a request of more than 4 MiB is refused', async () => {
    const path = await topic('large');
    expect((await publish(path, 'x'.repeat(900_000))).status).toBe(200);
    expect((await publish(path, 'x'.repeat(4_194_305))).json.code).toBe('too-large');
  });

  test('it registers nowhere and leads nobody: what only a leader can do is refused, with the reason', async () => {
    const path = await topic('led');
    const refused = await edge.send('POST', `${path}/segments/s0000000/split`, { body: { at: 32_768 } });
    expect([refused.status, refused.json]).toMatchObject([
      503,
      { code: 'unavailable', detail: 'this broker has no way to ask the leader' },
    ]);
    expect((await edge.send('GET', '/v1/brokers')).json.brokers).toEqual([]);
    expect((await edge.send('GET', '/v1/leader')).status).toBe(503);
  });

  test('a broker that leads is asked, by the secret that both have', async () => {
    const KELP_INTERNAL_SECRET = 'secret-of-the-brokers';
    const led = await freshDynoxide();
    const broker = await runServe({ store: sharedStack().store, table: led, environment: { KELP_INTERNAL_SECRET } });
    onTestFinished(async () => {
      broker.signal('SIGTERM');
      await broker.exited;
    });
    const { send } = await start(led, { KELP_INTERNAL_SECRET });
    await send('PUT', '/v1/topics/t', { body: { partitionKey: 'key' } });
    await send('POST', '/v1/topics/t/message?key=a', { body: 'x', headers: TEXT });
    const split = await send('POST', '/v1/topics/t/segments/s0000000/split', { body: { at: 32_768 } });
    expect([split.status, split.json.successors.length]).toEqual([200, 2]);
    await send('POST', '/v1/topics/t/message?key=a', { body: 'y', headers: TEXT });
    const first = (await send('GET', '/v1/topics/t/messages')).json;
    const second = (await send('GET', `/v1/topics/t/messages?cursor=${first.cursor}`)).json;
    expect([...first.messages, ...second.messages]).toMatchObject([{ text: 'x' }, { text: 'y' }]);
  });

  test('a broker that leads and has another secret is named at the end of the request', async () => {
    const led = await freshDynoxide();
    const broker = await runServe({
      store: sharedStack().store,
      table: led,
      environment: { KELP_INTERNAL_SECRET: 'secret-of-the-brokers', KELP_BROKER_ID: 'broker-1' },
    });
    onTestFinished(async () => {
      broker.signal('SIGTERM');
      await broker.exited;
    });
    const { send } = await start(led, { KELP_INTERNAL_SECRET: 'secret-of-the-workers' });
    await expect.poll(async () => (await send('GET', '/v1/leader')).status).toBe(200);
    const { status, json } = await send('POST', '/v1/rebalance', { body: { dryRun: true }, headers: { 'kelp-timeout-ms': '2000' } });
    expect([status, json.code, json.retryable]).toEqual([503, 'unavailable', true]);
    expect(json.detail).toMatch(
      /^no leader answered in time: broker broker-1 has not received rebalance: status 404 of somebody else, or of one with another secret$/,
    );
  });

  describe('what it asks of its stores', () => {
    let passed: string[] = [];
    async function watched(): Promise<EdgeWorker & { readonly tables: FaultProxy }> {
      const witness = ({ method, operation }: Passing): void => void passed.push(operation === '' ? method : operation);
      const [stores, tables] = await Promise.all(
        [sharedStack().store.endpoint, table.endpoint].map((target) => startFaultProxy(target, witness)),
      );
      onTestFinished(async () => void (await Promise.all([stores?.close(), tables?.close()])));
      if (stores === undefined || tables === undefined) throw new Error('there are two');
      return { ...(await start(table, { KELP_S3_ENDPOINT: stores.url, KELP_TABLE_ENDPOINT: tables.url })), tables };
    }

    test('as README.md has it, since no request knows what another one has read', async () => {
      const path = await topic('counted');
      await publish(path, 'x');
      const { send } = await watched();
      const askedFor = async (...asked: Parameters<EdgeWorker['send']>): Promise<string[]> => {
        passed = [];
        expect((await send(...asked)).status).toBe(200);
        return passed.toSorted();
      };
      const published = await askedFor('POST', `${path}/message?key=a`, { body: 'y', headers: TEXT });
      expect(published).toEqual(['GetItem', 'GetItem', 'GetItem', 'PUT', 'UpdateItem']);
      // Of two objects.
      expect(await askedFor('GET', `${path}/segments/s0000000/messages`)).toEqual(['GET', 'GET', 'GetItem', 'GetItem', 'GetItem']);
      expect(await askedFor('GET', `${path}/messages`)).toEqual(['GET', 'GET', 'GetItem', 'GetItem', 'GetItem', 'Query']);
    });

    test('as README.md has it of uploads, too', async () => {
      const path = await topic('counted-uploads');
      const { send } = await watched();
      const askedFor = async (...asked: Parameters<EdgeWorker['send']>): Promise<{ readonly asked: string[]; readonly json: any }> => {
        passed = [];
        const { status, json } = await send(...asked);
        expect(status).toBeLessThan(300);
        return { asked: passed.toSorted(), json };
      };
      const body = 'hello';
      const sha256 = createHash('sha256').update(body).digest('hex');
      const announced = await askedFor('POST', `${path}/uploads`, { body: { bytes: body.length, sha256 } });
      expect(announced.asked).toEqual(['GetItem', 'GetItem', 'GetItem', 'PutItem']);
      const { upload, url, method, headers } = announced.json;
      expect((await fetch(url, { method, headers, body })).status).toBe(200);
      const published = await askedFor('POST', `${path}/messages`, { body: { messages: [{ key: 'a', upload }] } });
      const claimed = ['GetItem', 'GetItem', 'HEAD', 'PutItem', 'PutItem'];
      expect(published.asked).toEqual([...claimed, 'GetItem', 'GetItem', 'GetItem', 'PUT', 'UpdateItem'].toSorted());
      const read = await askedFor('GET', `${path}/messages`);
      expect(read.asked).toEqual(['GET', 'GetItem', 'GetItem', 'GetItem', 'Query']);
      const inline = await askedFor('GET', `${path}/messages?inlineBytes=5`);
      expect(inline.asked).toEqual(['GET', ...read.asked]);
    });

    test('nothing for a while, when it is asked whether it is ready, which anybody may ask', async () => {
      const { send } = await watched();
      const askedFor = async (): Promise<string[]> => {
        passed = [];
        expect((await send('GET', '/readyz', { token: null })).status).toBe(200);
        return passed.toSorted();
      };
      const probe = ['DELETE', 'DeleteItem', 'GET', 'GetItem', 'PUT', 'PutItem'];
      expect(await askedFor()).toEqual(probe);
      await expect.poll(askedFor).toEqual([]);
      await expect.poll(askedFor, { timeout: 10_000 }).toEqual(probe);
    });

    test('a commit whose answer is lost is stored once, by its fate', async () => {
      const path = await topic('lost');
      const { send, tables } = await watched();
      const lost = tables.plant({ matches: isCommit, fault: { kind: 'lose-answer' } });
      const { json } = await send('POST', `${path}/message?key=a`, { body: 'x', headers: TEXT });
      expect([json, lost.times()]).toEqual([{ segment: 's0000000', offset: 0 }, 1]);
      expect((await send('GET', `${path}/messages`)).json.messages).toMatchObject([{ text: 'x' }]);
    });
  });

  test('stores that do not answer: a problem within the caller’s time', async () => {
    await topic('t');
    const { send } = await start(table, { KELP_S3_ENDPOINT: await closedEndpoint() });
    const headers = { ...TEXT, 'kelp-timeout-ms': '1500' };
    const { json } = await send('POST', '/v1/topics/t/message?key=a', { body: 'x', headers });
    expect(json).toMatchObject({ retryable: true });
    expect((await edge.send('GET', '/v1/topics/t/messages')).json.messages).toEqual([]);
  });

  test('an environment that is not right: one line for each variable, and 503 for each request', async () => {
    const { send, log } = await start(table, { KELP_ROOT_TOKEN: 'short', KELP_TABLE: '' });
    for (const path of ['/livez', '/v1/topics']) {
      const { status, text } = await send('GET', path);
      expect([status, text.includes('short')]).toEqual([503, false]);
    }
    await expect.poll(() => log.length).toBe(2);
    expect(log[0]).toBe('kelp: KELP_ROOT_TOKEN must be a token of at least 16 characters [A-Za-z0-9._~+/=-]');
  });

  test('its configuration names what it needs, and deploys the bundle that is built', () => {
    const { main, vars, secrets } = readWrangler();
    expect(main).toBe('../../dist/functions/edge.mjs');
    const needed = Object.keys(variablesOf(table)).filter((name) => name !== 'KELP_TABLE_ENDPOINT');
    expect([...Object.keys(vars), ...secrets.required]).toEqual(expect.arrayContaining(needed));
  });
});

import { describe, expect, test } from 'vitest';
import { createFetchTable } from '../../src/adapters/fetch/fetch-table.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { assembleEdge } from '../../src/cli/assemble-edge.ts';
import { createEdgeHandler, type EdgeInstance } from '../../src/cli/edge-handler.ts';
import { PROBE_KNOWN_MS_MAX } from '../../src/model/limits.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const ENVIRONMENT = {
  KELP_ROOT_TOKEN: 'root-token-of-the-test',
  KELP_SECRET: 'a-secret-of-the-test',
  KELP_S3_ENDPOINT: 'https://s3.example.com',
  KELP_S3_ACCESS_KEY: 'access',
  KELP_S3_SECRET_KEY: 'secret',
};
const request = (): Request => new Request('https://kelp.example.com/livez');

function edge(settled: EdgeInstance['settled'] = () => Promise.resolve()) {
  const assembled: string[] = [];
  const lines: string[] = [];
  const handler = createEdgeHandler({
    clock: createSystemClock(),
    write: (line) => void lines.push(line),
    assemble: ({ rootToken }) => {
      const n = assembled.push(rootToken);
      return { answer: () => Promise.resolve(new Response(String(n))), settled };
    },
  });
  return { handler, assembled, lines };
}

describe('a worker at the edge', () => {
  test('each request has an instance of its own, and its answer does not wait for what it leaves behind', async () => {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const { handler } = edge(() => done);
    const kept: Promise<unknown>[] = [];
    const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };
    const answers = await Promise.all([request(), request()].map((asked) => handler.fetch(asked, ENVIRONMENT, context)));
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(['1', '2']);
    expect(kept).toHaveLength(2);
    let ended = false;
    const all = Promise.all(kept).then(() => (ended = true));
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    resolve();
    expect(await all).toBe(true);
  });

  test('the environment is read once it is right, and what is wrong with it is told in the log alone', async () => {
    const { handler, assembled, lines } = edge();
    const context = { waitUntil: () => undefined };
    const wrong = await handler.fetch(request(), { ...ENVIRONMENT, KELP_S3_ENDPOINT: 'ftp://store.example.com' }, context);
    expect([wrong.status, await wrong.json()]).toMatchObject([503, { code: 'unavailable', retryable: true }]);
    expect(lines).toEqual(['kelp: KELP_S3_ENDPOINT must be a URL such as http://127.0.0.1:8333, but is "ftp://store.example.com"']);
    expect((await handler.fetch(request(), ENVIRONMENT, context)).status).toBe(200);
    expect((await handler.fetch(request(), {}, context)).status).toBe(200);
    expect([assembled, lines.length]).toEqual([['root-token-of-the-test', 'root-token-of-the-test'], 1]);
  });

  test('anybody may ask whether it is ready: however often, the stores are probed once a second', async () => {
    const clock = createVirtualClock();
    let probes = 0;
    const table = interceptTable(createMemoryTable(), (_, make) => ((probes += 1), make()));
    const handler = createEdgeHandler({
      clock,
      write: () => undefined,
      assemble: (configuration, probed) =>
        assembleEdge(configuration, { table, store: createMemoryStore(), clock, write: () => undefined, probed }),
    });
    const ask = async (): Promise<number> => {
      const asked = new Request('https://kelp.example.com/readyz');
      return (await clock.run(handler.fetch(asked, ENVIRONMENT, { waitUntil: () => undefined }))).status;
    };
    expect(await ask()).toBe(200);
    const once = probes;
    expect(once).toBeGreaterThan(0);
    expect([await ask(), await ask(), probes]).toEqual([200, 200, once]);
    await clock.advance(PROBE_KNOWN_MS_MAX + 1);
    expect([await ask(), probes]).toEqual([200, 2 * once]);
  });

  test('keys that are missing are told in the same way, once they are needed', async () => {
    const lines: string[] = [];
    const clock = createSystemClock();
    const handler = createEdgeHandler({
      clock,
      write: (line) => void lines.push(line),
      assemble: ({ table }) => {
        createFetchTable({ ...table, clock });
        throw new Error('there was no need for keys');
      },
    });
    const answer = await handler.fetch(request(), ENVIRONMENT, { waitUntil: () => undefined });
    expect([answer.status, lines]).toEqual([
      503,
      ['kelp: no credentials for dynamodb: an access key and a secret key must be in the environment'],
    ]);
  });
});

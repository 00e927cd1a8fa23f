import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { Update } from '../../src/ports/metadata-table.ts';
import { bytesFrom } from './lean-exchange.ts';
import { runLoop } from './lean-loop.ts';
import type { GetLoad, LoadResult, PutLoad, UpdateLoad } from './load.ts';

const INDEX_DIGITS = 10;
const PUT_MS_MAX = 60_000;
export const ITEM_KEY = { pk: 'bench', sk: 'head' } as const;

// The counterpart of native/raw.go.
const { signal } = new AbortController();
const clock = createSystemClock();
const keyOf = (prefix: string, n: number): string => `${prefix}/${String(n).padStart(INDEX_DIGITS, '0')}`;

export function putLoad(load: PutLoad): Promise<LoadResult> {
  const store = createLeanStore({ ...load.store, clock });
  const bodies = Array.from({ length: load.clients }, () => randomBytes(load.bytes));
  if (load.checksum === true) return putWithChecksum(load, bodies);
  return runLoop(load, async (n, client) => {
    const body = bodies[client];
    assert(body !== undefined, 'each client has a body');
    body.writeBigUInt64LE(BigInt(n));
    await store.put(keyOf(load.prefix, n), [body], signal);
    return load.bytes;
  });
}

function putWithChecksum(load: PutLoad, bodies: readonly Buffer[]): Promise<LoadResult> {
  const presigner = createPresigner({ ...load.store, clock });
  const contents = bodies.map((body) => ({
    bytes: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
    contentType: 'application/octet-stream',
  }));
  return runLoop(load, async (n, client) => {
    const [body, content] = [bodies[client], contents[client]];
    assert(body !== undefined && content !== undefined, 'each client has a body');
    const { url, ...request } = presigner.put(keyOf(load.prefix, n), content, PUT_MS_MAX);
    await bytesFrom(url, { ...request, parts: [body] });
    return load.bytes;
  });
}

export function getLoad(load: GetLoad): Promise<LoadResult> {
  const store = createLeanStore({ ...load.store, clock });
  const { count, ...timed } = load;
  return runLoop(load.seconds === undefined ? load : timed, async (n) => {
    const { length } = await store.getRange(keyOf(load.prefix, n % count), 0, load.bytes, signal);
    assert.equal(length, load.bytes, 'an object comes whole');
    return length;
  });
}

export function updateLoad(load: UpdateLoad): Promise<LoadResult> {
  const table = createLeanTable({ ...load.table, clock });
  return runLoop(load, async (n) => {
    const update: Update = {
      condition: [{ op: '=', path: ['state'], value: 'open' }],
      changes: [
        { op: 'add', path: ['tail'], value: 1 },
        { op: 'set', path: ['object'], value: `object-${n}` },
      ],
    };
    const { applied } = await table.update(ITEM_KEY, update, signal);
    assert(applied, 'the condition holds');
    return 0;
  });
}

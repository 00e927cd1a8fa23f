import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { describeObjectStore } from '../conformance/object-store.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';
import { createScript } from './choose.ts';
import { createFaultyStore, onStore, type StoreCall, type StoreFault } from './faulty-store.ts';
import { randomDamage, randomStoreFaults } from './random-faults.ts';

const { signal } = new AbortController();
const BODY = Uint8Array.from({ length: 64 }, (_, index) => index);

function make(...faults: Parameters<typeof onStore>[]) {
  const clock = createVirtualClock();
  const inner = createMemoryStore();
  const script = createScript<StoreCall, StoreFault>(...faults.map(([match, fault]) => onStore(match, fault)));
  const store = createFaultyStore(inner, { choose: script.choose, clock });
  const isStored = async (key: string): Promise<boolean> => (await inner.list(key, { limit: 1 }, signal)).objects.length > 0;
  return { clock, inner, store, isStored };
}

// Without faults it is a store like any other.
describeObjectStore('memory, with a script of no faults', async () => ({ store: make().store, prefix: 'p' }));

describe('faulty store', () => {
  test.for<[StoreFault['kind'], string, boolean]>([
    ['slow-down', 'store-throttled', false],
    ['unreachable', 'store-unavailable', false],
    ['failed', 'store-indefinite', false],
    ['answer-lost', 'store-indefinite', true],
    ['late', 'store-indefinite', false],
  ])('a put that is %s: told as %s', async ([kind, code, stored]) => {
    const { store, isStored } = make([{ op: 'put' }, { kind } as StoreFault]);
    await expect(store.put('k', [BODY], signal)).rejects.toMatchObject({ code });
    expect(await isStored('k')).toBe(stored);
  });

  test('a late put brings back an object that was deleted meanwhile, with the bytes that it was given', async () => {
    const { clock, inner, store, isStored } = make([
      { op: 'put', nth: 1 },
      { kind: 'late', ms: 1_000 },
    ]);
    const body = BODY.slice();
    await expect(store.put('k', [body], signal)).rejects.toMatchObject({ kind: 'indefinite' });
    body.fill(0);
    await store.delete('k', signal);
    await clock.advance(999);
    expect(await isStored('k')).toBe(false);
    await clock.advance(1);
    expect(await inner.getRange('k', 0, 64, signal)).toEqual(BODY);
  });

  test('a doubled put lands again when the test says so', async () => {
    const { store, isStored } = make([{ op: 'put' }, { kind: 'doubled' }]);
    await store.put('k', [BODY], signal);
    await store.delete('k', signal);
    expect(await isStored('k')).toBe(false);
    await store.late.land();
    expect(await isStored('k')).toBe(true);
  });

  test('reads are damaged, or find nothing', async () => {
    const { inner, store } = make(
      [{ op: 'getRange', nth: 1 }, { kind: 'missing' }],
      [{ op: 'getRange', nth: 2 }, { kind: 'truncated' }],
      [
        { op: 'getRange', nth: 3 },
        { kind: 'flipped', at: 0 },
      ],
      [
        { op: 'getRange', nth: 4 },
        { kind: 'flipped', at: 0.999999 },
      ],
    );
    await inner.put('k', [BODY], signal);
    await expect(store.getRange('k', 0, 64, signal)).rejects.toMatchObject({ code: 'object-not-found' });
    expect(await store.getRange('k', 0, 64, signal)).toEqual(BODY.slice(0, 32));
    expect(await store.getRange('k', 0, 64, signal)).toEqual(BODY.with(0, 1));
    expect(await store.getRange('k', 0, 64, signal)).toEqual(BODY.with(63, 63 ^ 128));
    expect(await store.getRange('k', 0, 64, signal)).toEqual(BODY);
  });

  test('a HEAD finds nothing, or fails as reads do', async () => {
    const { inner, store } = make([{ op: 'head', nth: 1 }, { kind: 'missing' }], [{ op: 'head', nth: 2 }, { kind: 'answer-lost' }]);
    await inner.put('k', [BODY], signal);
    expect(await store.head('k', signal)).toBeUndefined();
    await expect(store.head('k', signal)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(await store.head('k', signal)).toEqual({ bytes: 64, sha256: undefined });
  });

  test('other calls fail as reads do', async () => {
    const { store } = make(
      [{ op: 'list' }, { kind: 'failed' }],
      [{ op: 'delete' }, { kind: 'slow-down' }],
      [{ op: 'getRange' }, { kind: 'failed' }],
    );
    await expect(store.list('k', { limit: 1 }, signal)).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(store.delete('k', signal)).rejects.toMatchObject({ code: 'store-throttled' });
    await expect(store.getRange('k', 0, 1, signal)).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  test('rules may name a prefix', async () => {
    const { store } = make([{ op: 'put', prefix: 'log/a/' }, { kind: 'slow-down' }]);
    await store.put('log/b/1', [BODY], signal);
    await expect(store.put('log/a/1', [BODY], signal)).rejects.toMatchObject({ kind: 'throttled' });
    expect(store.calls.map(({ call, fault }) => [call.key, fault?.kind])).toEqual([
      ['log/b/1', undefined],
      ['log/a/1', 'slow-down'],
    ]);
  });

  test('a call that hangs ends with its caller', async () => {
    const { store } = make([{ op: 'put' }, { kind: 'hangs' }]);
    const controller = new AbortController();
    const reason = new Error('deadline');
    const put = Promise.allSettled([store.put('k', [BODY], controller.signal)]);
    controller.abort(reason);
    expect(await put).toEqual([{ status: 'rejected', reason }]);
  });

  test('chance: every kind comes, and damage only to reads', async () => {
    const clock = createVirtualClock();
    const faulty = createFaultyStore(createMemoryStore(), {
      choose: randomStoreFaults(createSeededRandom(1), { share: 0.5, msMax: 20 }),
      clock,
    });
    for (let call = 0; call < 500; call++) await clock.run(faulty.put(`k${call}`, [BODY], signal)).catch(() => 'failed');
    expect(new Set(faulty.calls.map(({ fault }) => fault?.kind)).size).toBe(8);
    const damaged = createFaultyStore(createMemoryStore(), { choose: randomDamage(createSeededRandom(1), 0.5), clock });
    for (let call = 0; call < 200; call++) await damaged.put('k', [BODY], signal);
    expect(damaged.faults()).toBe(0);
    for (let call = 0; call < 200; call++) await damaged.getRange('k', 0, 64, signal).catch(() => 'missing');
    expect(damaged.faults()).toBeGreaterThan(60);
    expect(new Set(damaged.calls.map(({ fault }) => fault?.kind))).toEqual(new Set([undefined, 'missing', 'truncated', 'flipped']));
  });
});

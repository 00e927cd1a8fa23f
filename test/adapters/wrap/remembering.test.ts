import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { rememberingStore } from '../../../src/adapters/wrap/remembering.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';

const signal = new AbortController().signal;

/** A store whose reads are counted. */
function countedStore(): { readonly store: ObjectStore; reads(): number } {
  const memory = createMemoryStore();
  let reads = 0;
  const getRange: ObjectStore['getRange'] = (key, start, length, own) => {
    reads += 1;
    return memory.getRange(key, start, length, own);
  };
  return { store: { ...memory, getRange }, reads: () => reads };
}

test('any range of a remembered object is as the store has it, without asking it', async () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 8 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(parts, fc.nat(45), fc.integer({ min: 1, max: 45 }), async (body, start, length) => {
      const counted = countedStore();
      const remembering = rememberingStore(counted.store, { bytesMax: 100, isRemembered: () => true });
      await remembering.put('log/a', body, signal);
      const got = await remembering.getRange('log/a', start, length, signal);
      expect(counted.reads()).toBe(0);
      expect(got).toEqual(await counted.store.getRange('log/a', start, length, signal));
    }),
  );
});

test('the oldest objects go when there is no room; they are read from the store again', async () => {
  const counted = countedStore();
  const remembering = rememberingStore(counted.store, { bytesMax: 8, isRemembered: () => true });
  for (const key of ['log/a', 'log/b', 'log/c']) await remembering.put(key, [new Uint8Array(4)], signal);
  expect(await remembering.getRange('log/c', 0, 4, signal)).toHaveLength(4);
  expect(await remembering.getRange('log/b', 0, 4, signal)).toHaveLength(4);
  expect(counted.reads()).toBe(0);
  expect(await remembering.getRange('log/a', 0, 4, signal)).toHaveLength(4);
  expect(counted.reads()).toBe(1);
});

test('an object larger than the room is not remembered', async () => {
  const counted = countedStore();
  const remembering = rememberingStore(counted.store, { bytesMax: 8, isRemembered: () => true });
  await remembering.put('log/a', [new Uint8Array(9)], signal);
  expect(await remembering.getRange('log/a', 0, 9, signal)).toHaveLength(9);
  expect(counted.reads()).toBe(1);
});

test('what is not to be remembered is read from the store', async () => {
  const counted = countedStore();
  const remembering = rememberingStore(counted.store, { bytesMax: 8, isRemembered: (key) => key.startsWith('log/') });
  await remembering.put('probe/a', [new Uint8Array(4)], signal);
  expect(await remembering.getRange('probe/a', 0, 4, signal)).toHaveLength(4);
  expect(counted.reads()).toBe(1);
});

test('a put that was not answered, and a deleted object, are not remembered', async () => {
  const counted = countedStore();
  const failing: ObjectStore = { ...counted.store, put: () => Promise.reject(new KelpError('indefinite', 'store-indefinite', 'lost')) };
  const unanswered = rememberingStore(failing, { bytesMax: 8, isRemembered: () => true });
  await expect(unanswered.put('log/a', [new Uint8Array(1)], signal)).rejects.toMatchObject({ kind: 'indefinite' });
  await expect(unanswered.getRange('log/a', 0, 1, signal)).rejects.toMatchObject({ kind: 'not-found' });

  const remembering = rememberingStore(counted.store, { bytesMax: 8, isRemembered: () => true });
  await remembering.put('log/b', [new Uint8Array(1)], signal);
  await remembering.delete('log/b', signal);
  await expect(remembering.getRange('log/b', 0, 1, signal)).rejects.toMatchObject({ kind: 'not-found' });
});

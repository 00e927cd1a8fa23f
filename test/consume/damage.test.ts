import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConsumerDeps } from '../../src/consume/create-consumer.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Consumer } from '../../src/consume/page.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { pageKey } from '../../src/format/item-key.ts';
import { calm, createLog, EVERYTHING, type Log, messages, values } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };

const readAt = (log: Log, segment: SegmentId, offset: number, deps?: Partial<ConsumerDeps>) => {
  const { consumer } = log.instance(deps);
  return consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
};

/** Three objects of 2, 3 × 2 and 2 messages. */
async function threeObjects(log: Log) {
  const segment = await log.make(ALL);
  await log.write(segment, 'a', 'b');
  const [middle] = await log.append({ segment, batches: [messages('c', 'd'), messages('e', 'f'), messages('g', 'h')] });
  await log.write(segment, 'i', 'j');
  if (middle === undefined) throw new Error('nothing was appended');
  return { segment, ...middle };
}

/** A page, or the error and where it says that reading may go on. */
async function readOrError(consumer: Consumer, log: Log, { segment, offset }: { readonly segment: SegmentId; readonly offset: number }) {
  try {
    const page = await consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    return { read: await values(consumer, page.slices), nextOffset: page.nextOffset, error: undefined };
  } catch (error) {
    if (!(error instanceof KelpError)) throw error;
    return { read: [], nextOffset: Number(error.extra['nextOffset']), error };
  }
}

const flip = (at: number) => (bytes: Uint8Array) => bytes.map((byte, index) => (index === at ? byte ^ 4 : byte));

describe('F18 a damaged object', () => {
  test('a flipped bit: the messages before it, then an error that names it, then those behind it', async () => {
    const log = createLog();
    const { segment, key, starts } = await threeObjects(log);
    await log.damage(key, flip((starts[1] ?? 0) + 70));
    const before = await readAt(log, segment, 0);
    expect(await values(log.consumer, before.slices)).toEqual(['a', 'b', 'c', 'd']);
    expect(before.nextOffset).toBe(4);
    const extra = { topic: 'orders', segment, offset: 4, nextOffset: 6, object: key };
    await expect(readAt(log, segment, 4)).rejects.toMatchObject({ kind: 'corrupt', code: 'corrupt', extra });
    await expect(readAt(log, segment, 5)).rejects.toMatchObject({ kind: 'corrupt', extra });
    const behind = await readAt(log, segment, 6);
    expect(await values(log.consumer, behind.slices)).toEqual(['g', 'h', 'i', 'j']);
  });

  test('every single flipped bit of an object is an error or the right messages, never others', async () => {
    const log = createLog();
    const { segment, key, starts, batches } = await threeObjects(log);
    const end = (starts.at(-1) ?? 0) + (batches.at(-1)?.length ?? 0);
    const right = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
    let damaged = 0;
    for (let at = starts[0] ?? 0; at < end; at += 3) {
      await log.damage(key, flip(at));
      const { consumer } = log.instance();
      for (let offset = 0; offset < right.length;) {
        const { read, nextOffset, error } = await readOrError(consumer, log, { segment, offset });
        expect(read).toEqual(error === undefined ? right.slice(offset, nextOffset) : []);
        expect([undefined, 'corrupt']).toContain(error?.code);
        expect(nextOffset).toBeGreaterThan(offset);
        damaged += Number(error !== undefined);
        offset = nextOffset;
      }
      await log.damage(key, flip(at));
    }
    expect(damaged).toBeGreaterThan(50);
  });

  test('a truncated object: what is whole of it is read, the rest is named', async () => {
    const log = createLog();
    const { segment, key, starts } = await threeObjects(log);
    await log.damage(key, (bytes) => bytes.subarray(0, (starts[1] ?? 0) + 10));
    expect((await readAt(log, segment, 0)).nextOffset).toBe(4);
    await expect(readAt(log, segment, 4)).rejects.toMatchObject({ kind: 'corrupt', extra: { offset: 4, nextOffset: 8, object: key } });
    expect(await values(log.consumer, (await readAt(log, segment, 8)).slices)).toEqual(['i', 'j']);
  });

  test('a missing object is looked for again from a fresh head, then named', async () => {
    const log = createLog();
    const { segment, key } = await threeObjects(log);
    await log.store.delete(key, calm());
    let heads = 0;
    const table = { ...log.table, get: (...get: Parameters<typeof log.table.get>) => ((heads += 1), log.table.get(...get)) };
    await expect(readAt(log, segment, 2, { table })).rejects.toMatchObject({
      kind: 'corrupt',
      code: 'corrupt',
      extra: { topic: 'orders', segment, offset: 2, nextOffset: 8, object: key },
    });
    expect(heads).toBeGreaterThan(1);
    expect(await values(log.consumer, (await readAt(log, segment, 8)).slices)).toEqual(['i', 'j']);
  });

  test('bytes that were wrong on the way, once, are read again and are right', async () => {
    const log = createLog();
    const { segment, key } = await threeObjects(log);
    let gets = 0;
    const store: ObjectStore = {
      ...log.store,
      async getRange(...get) {
        const bytes = await log.store.getRange(...get);
        gets += get[0] === key ? 1 : 0;
        return get[0] === key && gets === 1 ? bytes.map((byte, index) => (index === 70 ? byte ^ 1 : byte)) : bytes;
      },
    };
    const page = await readAt(log, segment, 2, { store });
    expect(await values(log.consumer, page.slices)).toEqual(['c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']);
    expect(gets).toBe(2);
  });

  test("the store's own failures are not taken for damage", async () => {
    const log = createLog();
    const { segment } = await threeObjects(log);
    const failure = Object.assign(new Error('down'), { name: 'TypeError' });
    const store: ObjectStore = { ...log.store, getRange: () => Promise.reject(failure) };
    await expect(readAt(log, segment, 2, { store })).rejects.toBe(failure);
  });
});

describe('A4 a hole in the index', () => {
  test('spills and commits between any two steps of a read hide nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('write', 'spill', 'page only', 'nothing'), { minLength: 20, maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        async (actions, messagesMax) => {
          const log = createLog();
          const segment = await log.make(ALL);
          let written = 0;
          let step = 0;
          const act = async (): Promise<void> => {
            const action = actions[step];
            step += 1;
            if (action === 'write') await log.write(segment, `${written++}`, `${written++}`);
            else if (action !== 'nothing' && (await log.head(segment)).entries.length > 0)
              await log.spill(segment, { settle: action === 'spill' });
          };
          for (let ahead = 0; ahead < 8; ahead += 1) await act();
          const { consumer } = log.instance({
            table: {
              ...log.table,
              get: async (...get) => (await act(), log.table.get(...get)),
              query: async (...query) => (await act(), log.table.query(...query)),
            },
          });
          const read: string[] = [];
          for (let offset = 0, pages = 0; step < actions.length || offset < written; pages += 1) {
            const page = await consumer.readSegment(
              log.topic,
              { segment, from: { offset }, messagesMax, bytesMax: 10_000, waitMs: 0 },
              calm(),
            );
            read.push(...(await values(consumer, page.slices)));
            expect(page.tail).toBeGreaterThanOrEqual(page.nextOffset);
            offset = page.nextOffset;
            expect(pages).toBeLessThan(300);
          }
          expect(read).toEqual(Array.from({ length: written }, (_, index) => `${index}`));
        },
      ),
      { numRuns: 100 },
    );
  });

  test('A9 a page at or above the spill count is unsettled, and never believed', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (const text of ['a', 'b']) {
      await log.write(segment, text);
      await log.spill(segment);
    }
    await log.write(segment, 'c');
    await log.spill(segment, { settle: false });
    const ghost = { condition: [], changes: [{ op: 'set' as const, path: ['entries', 0, 'o'], value: `00000000/o${'x'.repeat(15)}` }] };
    await log.table.update(pageKey(log.topic.id, segment, 2), ghost, calm());
    await log.write(segment, 'd');
    const page = await readAt(log, segment, 0);
    expect(await values(log.consumer, page.slices)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('a page that is gone is an error that names the place, and never skipped', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (const text of ['a', 'b', 'c']) {
      await log.write(segment, text);
      await log.spill(segment);
    }
    await log.table.delete(pageKey(log.topic.id, segment, 1), [], calm());
    const before = await readAt(log, segment, 0);
    expect(await values(log.consumer, before.slices)).toEqual(['a']);
    await expect(readAt(log, segment, 1)).rejects.toMatchObject({ kind: 'corrupt', extra: { topic: 'orders', segment, offset: 1 } });
    expect(await values(log.consumer, (await readAt(log, segment, 2)).slices)).toEqual(['c']);
  });
});

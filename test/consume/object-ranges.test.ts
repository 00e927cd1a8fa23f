import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createObjectRanges, type ObjectRanges } from '../../src/consume/object-ranges.ts';
import { KelpError } from '../../src/model/errors.ts';
import { calm, silent } from './fixture.ts';

type Get = { readonly key: string; readonly start: number; readonly length: number; readonly signal: AbortSignal };

/** A store whose GETs a test answers itself. */
function createStub(bytesMax = 1_000): {
  readonly ranges: ObjectRanges;
  readonly gets: Get[];
  answer(index: number, outcome?: 'short' | KelpError): void;
} {
  const gets: Get[] = [];
  const answers: ((outcome: 'short' | KelpError | undefined) => void)[] = [];
  const store = {
    getRange(key: string, start: number, length: number, signal: AbortSignal) {
      gets.push({ key, start, length, signal });
      return new Promise<Uint8Array>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        answers.push((outcome) => {
          if (outcome instanceof KelpError) reject(outcome);
          else resolve(Uint8Array.from({ length: outcome === 'short' ? length - 1 : length }, (_, at) => (start + at) % 251));
        });
      });
    },
  };
  return {
    gets,
    ranges: createObjectRanges({ store, telemetry: silent, bytesMax }),
    answer: (index, outcome) => answers[index]?.(outcome),
  };
}

const range = (start: number, length: number, key = 'a') => ({ key, start, length });
const bytes = (start: number, length: number): number[] => Array.from({ length }, (_, at) => (start + at) % 251);

describe('createObjectRanges', () => {
  test('equal and contained ranges share one GET, in flight and afterwards', async () => {
    const { ranges, gets, answer } = createStub();
    const reads = [ranges.get(range(10, 100), calm()), ranges.get(range(10, 100), calm()), ranges.get(range(50, 60), calm())];
    expect(gets).toHaveLength(1);
    answer(0);
    const [first, second, inside] = await Promise.all(reads);
    expect([...(first ?? [])]).toEqual(bytes(10, 100));
    expect(second).toEqual(first);
    expect([...(inside ?? [])]).toEqual(bytes(50, 60));
    expect([...(await ranges.get(range(11, 5), calm()))]).toEqual(bytes(11, 5));
    expect(gets).toHaveLength(1);
    void ranges.get(range(50, 61), calm()).catch(() => undefined);
    void ranges.get(range(10, 1, 'b'), calm()).catch(() => undefined);
    expect(gets).toHaveLength(3);
  });

  test("one reader's abort leaves the others' GET alone; the last one's ends it", async () => {
    const { ranges, gets, answer } = createStub();
    const [one, two] = [new AbortController(), new AbortController()];
    const left = ranges.get(range(0, 10), one.signal);
    const stays = ranges.get(range(0, 10), two.signal);
    const reason = new Error('gone');
    one.abort(reason);
    await expect(left).rejects.toBe(reason);
    expect(gets[0]?.signal.aborted).toBe(false);
    answer(0);
    expect([...(await stays)]).toEqual(bytes(0, 10));

    const alone = new AbortController();
    const waiting = ranges.get(range(100, 10), alone.signal);
    alone.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(gets[1]?.signal.aborted).toBe(true);
    const again = ranges.get(range(100, 10), calm());
    expect(gets).toHaveLength(3);
    answer(2);
    expect([...(await again)]).toEqual(bytes(100, 10));
  });

  test('an aborted signal dials nothing, and no listener is left on one that lives on', async () => {
    const { ranges, gets, answer } = createStub();
    await expect(ranges.get(range(0, 10), AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    expect(gets).toHaveLength(0);
    const signal = calm();
    const read = ranges.get(range(0, 10), signal);
    answer(0);
    await read;
    await ranges.get(range(0, 10), signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('failures and objects that end early are not kept', async () => {
    const { ranges, gets, answer } = createStub();
    const failing = [ranges.get(range(0, 10), calm()), ranges.get(range(0, 10), calm())];
    answer(0, new KelpError('throttled', 'store-throttled', 'slow down'));
    for (const read of failing) await expect(read).rejects.toMatchObject({ code: 'store-throttled' });
    const short = ranges.get(range(0, 10), calm());
    answer(1, 'short');
    expect(await short).toHaveLength(9);
    const whole = ranges.get(range(0, 10), calm());
    expect(gets).toHaveLength(3);
    answer(2);
    expect(await whole).toHaveLength(10);
  });

  test('what is kept stays within its bound: the least recently used goes', async () => {
    const { ranges, gets, answer } = createStub(250);
    const read = async (start: number): Promise<number> => {
      const before = gets.length;
      const got = ranges.get(range(start, 100), calm());
      if (gets.length > before) answer(before);
      await got;
      return gets.length - before;
    };
    expect(await read(0)).toBe(1);
    expect(await read(100)).toBe(1);
    expect(await read(0)).toBe(0);
    expect(await read(200)).toBe(1);
    expect(await read(0)).toBe(0);
    expect(await read(100)).toBe(1);
    const large = ranges.get(range(0, 10_000, 'large'), calm());
    answer(gets.length - 1);
    await large;
    expect(await read(0)).toBe(1);
  });

  test('what is forgotten is asked for again, and a GET in flight meanwhile is not kept', async () => {
    const { ranges, gets, answer } = createStub();
    const read = ranges.get(range(0, 10), calm());
    ranges.forget('a');
    answer(0);
    await read;
    const again = ranges.get(range(0, 10), calm());
    expect(gets).toHaveLength(2);
    answer(1);
    await again;
    ranges.forget('a');
    void ranges.get(range(0, 10), calm()).catch(() => undefined);
    expect(gets).toHaveLength(3);
  });
});

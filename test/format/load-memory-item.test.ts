import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeLoadMemory, encodeLoadMemory, type LoadMemory } from '../../src/format/load-memory-item.ts';
import { packFloats } from '../../src/format/packed-floats.ts';
import { segmentId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../src/model/limits.ts';
import { LOAD_WINDOWS_MS } from '../../src/model/scaling-limits.ts';
import type { Item } from '../../src/ports/metadata-table.ts';
import { arbitraryLoadMemory } from './arbitrary-load-memory.ts';
import { undetected } from './damage.ts';

const encode = (memory: LoadMemory): Item => encodeLoadMemory(memory, 0);

test('what is remembered of loads comes back as it was', () => {
  fc.assert(
    fc.property(arbitraryLoadMemory, (memory) => {
      expect(decodeLoadMemory(encode(memory))).toEqual(memory);
    }),
  );
});

test('rates are rounded to 32 bits, and counters, times, loads and shares are not', () => {
  const third = 1 / 3;
  const rates = { messages: third, bytes: third, commits: third };
  const buckets = Array.from({ length: LOAD_BUCKETS }, () => 2 ** 53 - 1);
  const counters = { messages: 2 ** 53 - 1, bytes: 2 ** 53 - 2, commits: 2 ** 53 - 3, buckets };
  const average = { weight: third, rates, buckets: buckets.map(() => third) };
  const memory: LoadMemory = {
    version: 7,
    segments: [
      {
        segment: segmentId(1),
        windows: {
          bornMs: third,
          sinceMs: third,
          sample: { atMs: 1_800_000_000_000 + third, load: counters },
          latest: rates,
          averages: LOAD_WINDOWS_MS.map(() => average),
        },
        origin: { cameBy: 'split', parentCommits: third },
      },
    ],
    hotKeys: [{ segment: segmentId(1), lo: 0, hi: 9, share: 0.5 + Number.EPSILON, load: third }],
    throttling: { load: third, atMs: third },
  };
  const rounded: unknown = JSON.parse(JSON.stringify(memory), (name, value: unknown) => {
    const isRounded = value === third && !['bornMs', 'sinceMs', 'atMs', 'load'].includes(name);
    return isRounded ? Math.fround(third) : value;
  });
  expect(decodeLoadMemory(encode(memory))).toEqual(rounded);
});

test('with anything of another type, or left out, it is corrupt', () => {
  fc.assert(
    fc.property(arbitraryLoadMemory, (memory) => {
      expect(undetected(encode(memory), decodeLoadMemory, { optional: ['throttled'], ignored: ['ttl', 'tenant'] })).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test('of a newer form it is corrupt, not guessed at', () => {
  fc.assert(
    fc.property(arbitraryLoadMemory, (memory) => {
      expect(() => decodeLoadMemory({ ...encode(memory), v: 2 })).toThrow(expect.objectContaining({ kind: 'corrupt' }));
    }),
    { numRuns: 5 },
  );
});

test('numbers that are missing, too many, or no numbers are corrupt, wherever they stand', () => {
  const packed = arbitraryLoadMemory.map((memory) => packedFields(encode(memory))).filter((fields) => fields.length > 0);
  fc.assert(
    fc.property(packed, (fields) => {
      for (const { bytes, replaced } of fields) {
        const other = [bytes.subarray(1), new Uint8Array([...bytes, 0]), new Uint8Array(0), bytes.map(() => 0xff)];
        for (const damage of other) expect(() => decodeLoadMemory(replaced(damage))).toThrow(expect.objectContaining({ kind: 'corrupt' }));
      }
    }),
    { numRuns: 20 },
  );
});

test('one of three that belong together is corrupt: a segment is known, or it is not', () => {
  const item = encode({ version: 1, segments: [], hotKeys: [] });
  const times = packFloats([1, 2, 3], 64);
  expect(() => decodeLoadMemory({ ...item, segments: [{ s: 's0000001', t: times }] })).toThrow(
    expect.objectContaining({ kind: 'corrupt' }),
  );
  expect(decodeLoadMemory({ ...item, segments: [{ s: 's0000001' }] }).segments).toEqual([{ segment: 's0000001' }]);
});

type Packed = { readonly bytes: Uint8Array; readonly replaced: (bytes: Uint8Array) => Item };

function packedFields(item: Item): Packed[] {
  const inList = (list: 'segments' | 'hot'): Packed[] =>
    (item[list] as readonly Item[]).flatMap((member, index) =>
      Object.entries(member).flatMap(([name, bytes]) =>
        bytes instanceof Uint8Array
          ? [
              {
                bytes,
                replaced: (other) => ({ ...item, [list]: (item[list] as readonly Item[]).with(index, { ...member, [name]: other }) }),
              },
            ]
          : [],
      ),
    );
  const { throttled } = item;
  const own: Packed[] = throttled instanceof Uint8Array ? [{ bytes: throttled, replaced: (other) => ({ ...item, throttled: other }) }] : [];
  return [...inList('segments'), ...inList('hot'), ...own];
}

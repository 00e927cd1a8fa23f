import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId, CommitId, TopicId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../src/model/limits.ts';
import type { Bytes } from '../../src/model/message.ts';
import type { Topic } from '../../src/model/topic.ts';
import { decodeForward, decodeOutcomes, encodeForward, encodeOutcomes } from '../../src/publish/forward-codec.ts';
import type { Part, PartOutcome } from '../../src/publish/part.ts';
import { message } from './requests.ts';

const compression = createCompression({ codec: 'zstd' });
const topic = { id: 'tabcdefghijklmno' as TopicId, name: 'orders' } as Topic;

async function part(counts: readonly number[], options: Partial<Part> = {}): Promise<Part> {
  const batches = await Promise.all(
    counts.map((count, n) =>
      encodeBatch(
        Array.from({ length: count }, (_, i) => message(`k${i}`, 'v'.repeat(i), 1_000 + n * 10 + i)),
        compression,
      ),
    ),
  );
  const count = counts.reduce((sum, one) => sum + one, 0);
  return {
    segment: segmentId(3),
    batches,
    bytes: batches.reduce((sum, batch) => sum + batch.length, 0),
    count,
    buckets: Array.from({ length: LOAD_BUCKETS }, (_, bucket) => (bucket === 5 ? count : 0)),
    highestTimestampMs: Math.max(...counts.map((one, n) => 1_000 + n * 10 + one - 1)),
    ...options,
  };
}

const whole = (pieces: readonly Bytes[]): Bytes => new Uint8Array(Buffer.concat(pieces));
/** The same with another head. */
function withHead(bytes: Bytes, change: (head: any) => void): Bytes {
  const length = new DataView(bytes.buffer).getUint32(0);
  const head = JSON.parse(Buffer.from(bytes.subarray(4, 4 + length)).toString());
  change(head);
  const text = Buffer.from(JSON.stringify(head));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(text.length);
  return whole([size, text, bytes.subarray(4 + length)]);
}

const WRONG: readonly (readonly [what: string, change: (head: any) => void])[] = [
  ['another count', (head: any) => (head.parts[0].count += 1)],
  ['another length', (head: any) => (head.parts[0].bytes -= 1)],
  ['a longer length', (head: any) => (head.parts[0].bytes += 1)],
  ['other buckets', (head: any) => (head.parts[0].buckets[0] += 1)],
  ['too few buckets', (head: any) => head.parts[0].buckets.pop()],
  ['another time', (head: any) => (head.parts[0].highestTimestampMs += 1)],
  ['a negative sequence', (head: any) => (head.parts[0].producer = { producer: 'p', epoch: 0, sequence: -1 })],
  ['no segment', (head: any) => (head.parts[0].segment = '../x')],
  ['no topic', (head: any) => delete head.topic],
  ['a topic of another shape', (head: any) => (head.topic.id = 'x')],
  ['no parts', (head: any) => (head.parts = [])],
  ['a part more', (head: any) => head.parts.push({ ...head.parts[0], bytes: 0, count: 0 })],
  ['an expected tail', (head: any) => (head.parts[0].matchTail = 1)],
  ['a newer version', (head: any) => (head.v = 2)],
];

describe('a forwarded publish', () => {
  test('comes back as it was: parts in order, their batches whole, a producer’s stamp', async () => {
    const counts = fc.array(fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
    const stamp = fc.option(fc.record({ producer: fc.string(), epoch: fc.nat(), sequence: fc.maxSafeNat() }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(counts, stamp, async (all, producer) => {
        const parts = await Promise.all(
          all.map((one, n) => part(one, { segment: segmentId(n), ...(producer === undefined ? {} : { producer }) })),
        );
        const decoded = decodeForward(whole(encodeForward({ topic, parts })));
        expect(decoded.topic).toEqual({ id: topic.id, name: topic.name });
        expect(decoded.parts.map(({ batches, ...rest }) => ({ ...rest, batches: batches.map((batch) => [...batch]) }))).toEqual(
          parts.map(({ batches, ...rest }) => ({ ...rest, batches: batches.map((batch) => [...batch]) })),
        );
      }),
      { numRuns: 30 },
    );
  });

  test('copies no batch', async () => {
    const one = await part([3]);
    expect(encodeForward({ topic, parts: [one] }).at(-1)).toBe(one.batches[0]);
    const bytes = whole(encodeForward({ topic, parts: [one] }));
    expect(decodeForward(bytes).parts[0]?.batches[0]?.buffer).toBe(bytes.buffer);
  });

  test('no bit of its batches can change unseen, but for what its reader sets', async () => {
    const bytes = whole(encodeForward({ topic, parts: [await part([5])] }));
    const batchAt = 4 + new DataView(bytes.buffer).getUint32(0);
    // A batch's first bytes are its base offset and leader epoch, which a reader sets; the checksum begins behind them.
    for (let at = batchAt + 16; at < bytes.length; at += 1) {
      const damaged = Uint8Array.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      expect(() => decodeForward(damaged), `byte ${at - batchAt}`).toThrow(KelpError);
    }
  });

  test.for(WRONG)('with %s is refused', async ([, change]) => {
    const bytes = whole(encodeForward({ topic, parts: [await part([2])] }));
    expect(() => decodeForward(withHead(bytes, () => undefined))).not.toThrow();
    expect(() => decodeForward(withHead(bytes, change))).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });

  test('cut anywhere, or followed by anything, it is refused', async () => {
    const bytes = whole(encodeForward({ topic, parts: [await part([1, 2])] }));
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeForward(bytes.slice(0, length)), `${length} bytes`).toThrow(expect.objectContaining({ kind: 'invalid' }));
    }
    expect(() => decodeForward(whole([bytes, new Uint8Array(1)]))).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });
});

describe('its answer', () => {
  const guard = '0mx23hdloeeu7ccgm00001' as CommitId;
  const range = { segment: segmentId(9), lo: 0, hi: 65_535 };
  const outcomes: readonly PartOutcome[] = [
    { outcome: 'stored', offset: 7, again: true },
    { outcome: 'duplicate', offsets: [3, null] },
    { outcome: 'refused', error: new KelpError('conflict', 'sequence-gap', 'a gap', { extra: { expected: 4 } }), tail: 12 },
    { outcome: 'sealed', successors: [{ ...range, brokers: ['a', 'b-1'] as BrokerId[] }, range], deleted: false },
    { outcome: 'sealed', successors: [], deleted: true },
    { outcome: 'again' },
    { outcome: 'dead', because: 'floor', guard: '', tail: 0 },
    { outcome: 'dead', because: 'guard', guard, tail: 5 },
    { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', 'unknown', { retryAfterMs: 5 }) },
  ];

  test('comes back as it was, whatever became of each part', async () => {
    const parts = await Promise.all(outcomes.map(() => part([2])));
    const decoded = decodeOutcomes(encodeOutcomes(outcomes), parts);
    expect(decoded).toEqual(outcomes);
    expect(decoded.map((one) => 'error' in one && [one.error.kind, one.error.code, one.error.extra])).toEqual(
      outcomes.map((one) => 'error' in one && [one.error.kind, one.error.code, one.error.extra]),
    );
  });

  test('must be for these parts, and of a known shape', async () => {
    const parts = [await part([2])];
    const invalid = expect.objectContaining({ kind: 'invalid' });
    const answers = [
      { v: 1, outcomes: [] },
      { v: 1, outcomes: [{ outcome: 'again' }, { outcome: 'again' }] },
      { v: 1, outcomes: [{ outcome: 'duplicate', offsets: [1] }] },
      { v: 1, outcomes: [{ outcome: 'stored', offset: -1, again: false }] },
      { v: 1, outcomes: [{ outcome: 'stored', offset: 1.5, again: false }] },
      { v: 1, outcomes: [{ outcome: 'lost' }] },
      { v: 1, outcomes: [{ outcome: 'failed', error: { kind: 'odd', code: 'x', message: 'y' } }] },
      { v: 2, outcomes: [{ outcome: 'again' }] },
      null,
    ];
    for (const one of answers) expect(() => decodeOutcomes(Buffer.from(JSON.stringify(one)), parts), JSON.stringify(one)).toThrow(invalid);
    expect(() => decodeOutcomes(Buffer.from('{'), parts)).toThrow(invalid);
  });
});

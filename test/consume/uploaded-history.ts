import fc from 'fast-check';
import type { SegmentId } from '../../src/model/ids.ts';
import { type Log, messages } from './fixture.ts';
import { appendUpload, find, offsetIn, type Uploaded } from './uploaded.ts';

const ALL = { lo: 0, hi: 65_535 };

export type Commit = {
  readonly kind: 'written' | 'uploaded';
  /** Messages of each batch. */
  readonly counts: readonly number[];
  /** Whether it is bad, of uploaded batches. */
  readonly bad: readonly boolean[];
  readonly perRun: number;
  readonly spill: boolean;
};

export const commits = fc.array(
  fc.record({
    kind: fc.constantFrom('written', 'uploaded', 'uploaded'),
    counts: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 5 }),
    bad: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    perRun: fc.integer({ min: 1, max: 3 }),
    spill: fc.boolean(),
  }) satisfies fc.Arbitrary<Commit>,
  { minLength: 1, maxLength: 8 },
);

/** What is to be read of it, as `offset=value`, and how much not. */
export type Written = { readonly segment: SegmentId; readonly good: readonly string[]; readonly passed: number; readonly tail: number };

/** Writes the history, with damage in every bad batch, which was found already: whoever looks into one fails. */
export async function writeHistory(log: Log, history: readonly Commit[]): Promise<Written> {
  const segment = await log.make(ALL);
  const good: string[] = [];
  let tail = 0;
  let passed = 0;
  for (const { kind, counts, bad, perRun, spill } of history) {
    const batches = counts.map((count, place) =>
      messages(...Array.from({ length: count }, (_, index) => String(tail + offsetIn(counts, place) + index))),
    );
    const isBad = (place: number): boolean => kind === 'uploaded' && bad[place] === true;
    if (kind === 'written') await log.append({ segment, batches });
    else {
      const uploaded = await appendUpload(log, segment, { batches, perRun });
      const places = [...counts.keys()].filter(isBad);
      for (const place of places) await spoil(log, uploaded, place);
      await find(log, uploaded, { checked: true, bad: places });
    }
    for (const [place, count] of counts.entries()) {
      if (isBad(place)) passed += count;
      else good.push(...Array.from({ length: count }, (_, index) => `${tail + index}=${tail + index}`));
      tail += count;
    }
    if (spill) await log.spill(segment);
  }
  return { segment, good, passed, tail };
}

/** A record's byte, so that headers are as they were declared. */
export const spoil = (log: Log, { key, batches }: Uploaded, place: number): Promise<void> => {
  const end = batches.slice(0, place + 1).reduce((sum, batch) => sum + batch.length, 0);
  return log.damage(key, (bytes) => bytes.map((byte, at) => (at === end - 1 ? byte ^ 1 : byte)));
};

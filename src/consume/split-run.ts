import { readBatchHeader, verifyBatch } from '../format/record-batch-header.ts';
import { KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import { isTouched, type OffsetRange } from './quarantine.ts';

/** A stretch of offsets of a run: one whole batch, or damage. Together they are the run's offsets without a gap. */
export type RunPart = {
  readonly offset: number;
  readonly count: number;
  /** Undefined: damaged, or `quarantined`, and then nobody has looked whether it is. */
  readonly bytes: Bytes | undefined;
  readonly quarantined?: true;
};

export type RunPlace = {
  readonly offset: number;
  readonly count: number;
  readonly bytes: number;
  /** Offsets of batches that are passed over. Their headers were checked before they became part of the segment. */
  readonly quarantined?: readonly OffsetRange[];
};
export type SplitRun = (bytes: Bytes, run: RunPlace) => readonly RunPart[];

type Found = {
  readonly bytes: Bytes;
  /** Undefined: its checksum is wrong. */ readonly count: number | undefined;
  readonly quarantined?: true;
};

/**
 * The batches of a run whose first message has offset `offset`. Batches don't hold their offsets: they follow from the
 * counts of those before, or, behind damage, from the counts of those up to the run's end, which the index knows.
 */
export function splitRun(bytes: Bytes, run: RunPlace): RunPart[] {
  const { found, complete } = walk(bytes, run);
  const whole = complete && bytes.length === run.bytes;
  const firstDamaged = found.findIndex((batch) => batch.count === undefined);
  const front = firstDamaged === -1 ? found : found.slice(0, firstDamaged);
  const back = firstDamaged === -1 || !whole ? [] : found.slice(found.findLastIndex((batch) => batch.count === undefined) + 1);
  const frontCount = sum(front);
  const backCount = sum(back);
  const damaged = run.count - frontCount - backCount;
  const intact = whole && firstDamaged === -1;
  // The index and the counts contradict each other: no offset of this run is certain.
  if (damaged < 0 || (intact && damaged !== 0) || (!intact && damaged === 0))
    return [{ offset: run.offset, count: run.count, bytes: undefined }];
  const gap = intact ? [] : [{ offset: run.offset + frontCount, count: damaged, bytes: undefined }];
  return [...placed(front, run.offset), ...gap, ...placed(back, run.offset + run.count - backCount)];
}

/**
 * The same, each stretch of memory once: pages that end within a run come back to it, and what came from storage in one read
 * is verified in one. Read from storage again, it lies in other memory. Kept for as long as that memory is.
 */
export function createRunSplitter(): SplitRun {
  const known = new WeakMap<ArrayBufferLike, Map<string, readonly RunPart[]>>();
  return (bytes, run) => {
    const parts = known.get(bytes.buffer) ?? new Map<string, readonly RunPart[]>();
    known.set(bytes.buffer, parts);
    const passed = run.quarantined?.map(({ from, to }) => `${from}-${to}`) ?? [];
    const name = [bytes.byteOffset, bytes.length, run.offset, run.count, run.bytes, ...passed].join('/');
    const before = parts.get(name);
    if (before !== undefined) return before;
    const split = splitRun(bytes, run);
    parts.set(name, split);
    return split;
  };
}

/** `complete`: the batches' lengths lead exactly to the end. */
function walk(bytes: Bytes, { offset, quarantined = [] }: RunPlace): { readonly found: readonly Found[]; readonly complete: boolean } {
  const found: Found[] = [];
  let next = offset;
  for (let at = 0; at < bytes.length;) {
    const header = attempt(() => readBatchHeader(bytes, at));
    if (header === undefined) return { found, complete: false };
    const batch = bytes.subarray(at, at + header.bytes);
    const isPassed = isTouched(quarantined, { from: next, to: next + header.count });
    const count = isPassed ? header.count : attempt(() => verifyBatch(batch).count);
    // Behind damage no offset is certain, so nobody knows which batches were meant.
    if (count === undefined && quarantined.length > 0) return { found, complete: false };
    found.push({ bytes: batch, count, ...(isPassed ? { quarantined: true } : {}) });
    at += header.bytes;
    next += count ?? 0;
  }
  return { found, complete: true };
}

/** Undefined where the bytes are not what the format says; other errors are bugs. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof KelpError) return undefined;
    throw error;
  }
}

const sum = (batches: readonly Found[]): number => batches.reduce((total, batch) => total + (batch.count ?? 0), 0);

function placed(batches: readonly Found[], offset: number): RunPart[] {
  let next = offset;
  return batches.map(({ bytes, count = 0, quarantined }) => {
    next += count;
    const place = { offset: next - count, count };
    return quarantined === true ? { ...place, bytes: undefined, quarantined } : { ...place, bytes };
  });
}

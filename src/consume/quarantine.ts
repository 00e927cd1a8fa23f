import type { TopicId, UploadId } from '../model/ids.ts';
import { QUARANTINE_KNOWN_MS_MAX, QUARANTINES_KNOWN_MAX } from '../model/upload-limits.ts';
import type { Upload } from '../model/upload.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { readUpload } from '../state/stored-uploads.ts';

/** What was found in an upload's batches. `checked`: in all of them, so that it stays as it is. */
export type Findings = Pick<Upload, 'checked' | 'quarantined'>;

export type Quarantine = {
  /** A strong read, unless it is known; undefined: there is no such upload. */
  of(topic: TopicId, upload: UploadId, signal: AbortSignal): Promise<Findings | undefined>;
  /** Something is wrong with it, so somebody may have found more by now. */
  forget(topic: TopicId, upload: UploadId): void;
};

/** Offsets `from` to `to` − 1. */
export type OffsetRange = { readonly from: number; readonly to: number };

type Known = { readonly findings: Findings; readonly untilMs: number };

export function createQuarantine({ table, clock }: { readonly table: MetadataTable; readonly clock: Clock }): Quarantine {
  // In the order of their last reading from the table.
  const known = new Map<string, Known>();

  function remember(name: string, findings: Findings): void {
    known.delete(name);
    known.set(name, { findings, untilMs: findings.checked ? Infinity : clock.monotonicMs() + QUARANTINE_KNOWN_MS_MAX });
    if (known.size <= QUARANTINES_KNOWN_MAX) return;
    const oldest = known.keys().next();
    if (oldest.done !== true) known.delete(oldest.value);
  }

  return {
    async of(topic, upload, signal) {
      const name = nameOf(topic, upload);
      const before = known.get(name);
      if (before !== undefined && clock.monotonicMs() < before.untilMs) return before.findings;
      const stored = await readUpload({ table }, topic, upload, signal);
      if (stored === undefined) return undefined;
      const { checked, quarantined } = stored;
      remember(name, { checked, quarantined });
      return { checked, quarantined };
    },
    forget: (topic, upload) => known.delete(nameOf(topic, upload)),
  };
}

const nameOf = (topic: TopicId, upload: UploadId): string => `${topic}/${upload}`;

/** The offsets that readers pass over, in order and apart from each other; `first`: that of the upload's first message. */
export function passedOver({ quarantined }: Findings, first: number): OffsetRange[] {
  const ranges: OffsetRange[] = [];
  for (const { first: delta, count } of quarantined.toSorted((a, b) => a.first - b.first)) {
    const range = { from: first + delta, to: first + delta + count };
    const last = ranges.at(-1);
    if (last !== undefined && range.from <= last.to) ranges.splice(-1, 1, { from: last.from, to: Math.max(last.to, range.to) });
    else ranges.push(range);
  }
  return ranges;
}

/** Whether all of it is in one of the ranges. */
export const isWithin = (ranges: readonly OffsetRange[], { from, to }: OffsetRange): boolean =>
  ranges.some((range) => range.from <= from && to <= range.to);

/** Whether any of it is: a batch is passed over as a whole. */
export const isTouched = (ranges: readonly OffsetRange[], { from, to }: OffsetRange): boolean =>
  ranges.some((range) => range.from < to && from < range.to);

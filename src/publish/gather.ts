import type { SegmentId } from '../model/ids.ts';
import { GROUP_BYTES_MAX, GROUP_MEMBERS_MAX, HEAD_LINES_MAX } from '../model/limits.ts';
import type { Part, Submission } from './part.ts';

/** A queued submission as gathering sees it. */
export type Queued = { readonly submission: Submission; readonly bytes: number };

/**
 * Which of the queued submissions, oldest first, make the next group. Pure. `busyLines` are lines with a batch in a group
 * in flight: a later batch of theirs waits, or it could overtake and be a gap; and so does everything behind it in its line.
 * What touches one of `busySegments` waits for more to go with.
 */
export function gather<T extends Queued>(queue: readonly T[], busyLines: ReadonlySet<string>, busySegments: ReadonlySet<SegmentId>): T[] {
  const waiting = new Set(busyLines);
  const group: T[] = [];
  const counts: Counts = { bytes: 0, members: new Map(), producers: new Map() };
  for (const queued of queue) {
    const lines = linesOf(queued.submission);
    const held = lines.some((line) => waiting.has(line)) || queued.submission.parts.some((part) => busySegments.has(part.segment));
    if (!held && fits(queued, group, counts)) {
      group.push(queued);
      if (queued.submission.alone) break;
      add(queued, counts);
    } else for (const line of lines) waiting.add(line);
    if (counts.bytes >= GROUP_BYTES_MAX) break;
  }
  return group;
}

type Counts = { bytes: number; readonly members: Map<string, number>; readonly producers: Map<string, Set<string>> };

/** The first one always fits: a single request may be larger than a group. */
function fits(queued: Queued, group: readonly Queued[], counts: Counts): boolean {
  if (group.length === 0) return true;
  if (queued.submission.alone || counts.bytes + queued.bytes > GROUP_BYTES_MAX) return false;
  return queued.submission.parts.every((part) => {
    if ((counts.members.get(part.segment) ?? 0) >= GROUP_MEMBERS_MAX) return false;
    const producers = counts.producers.get(part.segment);
    if (part.producer === undefined || producers === undefined) return true;
    return producers.has(part.producer.producer) || producers.size < HEAD_LINES_MAX;
  });
}

function add(queued: Queued, counts: Counts): void {
  counts.bytes += queued.bytes;
  for (const part of queued.submission.parts) {
    counts.members.set(part.segment, (counts.members.get(part.segment) ?? 0) + 1);
    if (part.producer === undefined) continue;
    const producers = counts.producers.get(part.segment) ?? new Set();
    counts.producers.set(part.segment, producers.add(part.producer.producer));
  }
}

/** The producer lines that a submission extends. */
export function linesOf(submission: Submission): string[] {
  return submission.parts.flatMap((part: Part) => (part.producer === undefined ? [] : [`${part.segment}/${part.producer.producer}`]));
}

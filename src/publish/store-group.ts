import { batchObjectHeaderBytes } from '../format/batch-object.ts';
import { uploadObjectRef } from '../format/object-key.ts';
import { KelpError } from '../model/errors.ts';
import type { ObjectRef } from '../model/head.ts';
import type { TopicId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import { commitBatch } from './commit-batch.ts';
import type { CommitOutcome, CommitRequest } from './commit-outcome.ts';
import type { CommitDeps } from './commit-deps.ts';
import { layOut, type SegmentLayout } from './lay-out.ts';
import type { Part, PartOutcome } from './part.ts';
import type { Spiller } from './spill.ts';
import { type WriteDeps, writeObject } from './write-object.ts';

export type StoreDeps = CommitDeps & WriteDeps & { readonly spiller: Spiller };

export type Progress = {
  /** How long ago the part was queued. */
  readonly queuedMs: (part: Part) => number;
  /** The object is stored; what takes time from now on are commits. */
  readonly uploaded: () => void;
  /** Called once for each part, as soon as its outcome is known. */
  readonly settle: (part: Part, outcome: PartOutcome) => void;
  /** The table has put off the segment's commit, which is sent again. */
  readonly putOff: (segment: Part['segment']) => void;
  /** Nothing of the segment is waited for any more. */
  readonly decided: (segment: Part['segment']) => void;
};

/** PUT, then commit: one object for the group, one commit for each of its segments. Of a recorded group all have the same minute. Never rejects. */
export async function storeGroup(
  deps: StoreDeps,
  group: { readonly topic: Topic; readonly parts: readonly Part[] },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { parts } = group;
  const topic = group.topic.id;
  const segments = [...new Set(parts.map((part) => part.segment))];
  const layout = layOut(parts, batchObjectHeaderBytes(segments.length));
  const floors = segments.map((segment) => deps.heads.known(topic, segment)?.floor ?? '');
  let object: ObjectRef;
  try {
    object =
      uploadedObject(parts) ??
      (await writeObject(deps, { topic, segments, body: layout.body, floors, minute: parts[0]?.recorded?.minute }, signal));
  } catch (error) {
    // No commit was sent: surely not stored.
    const outcome: PartOutcome = { outcome: 'failed', error: asKelpError(deps, error, 'unavailable') };
    for (const part of parts) progress.settle(part, outcome);
    return;
  }
  progress.uploaded();
  const telling = tellingThrottled(deps, progress.putOff);
  const commit = async (segment: SegmentLayout): Promise<void> => {
    // Parts are in order of their age.
    const [oldest] = segment.parts;
    if (oldest !== undefined) deps.pressure.queued(topic, segment.segment, progress.queuedMs(oldest.part));
    const outcome = await commitSegment(telling, { topic, object, segment }, signal);
    noteStored(deps, group.topic, { ...segment, outcome });
    for (const [index, { part }] of segment.parts.entries()) progress.settle(part, partOutcome(outcome, index));
    progress.decided(segment.segment);
    if (outcome.outcome === 'done' && outcome.head !== undefined) deps.spiller.committed(outcome.head);
  };
  await Promise.all(layout.segments.map(commit));
}

/** What clients have put there is committed as it is. */
function uploadedObject(parts: readonly Part[]): ObjectRef | undefined {
  const [{ uploaded, recorded } = {}] = parts;
  if (uploaded === undefined) return undefined;
  if (parts.length > 1 || recorded?.minute === undefined) throw new Error('an upload is a group of its own, with a minute');
  return uploadObjectRef(uploaded.upload, recorded.minute);
}

function tellingThrottled(deps: StoreDeps, putOff: Progress['putOff']): StoreDeps {
  const throttled: StoreDeps['pressure']['throttled'] = (topic, segment) => {
    deps.pressure.throttled(topic, segment);
    putOff(segment);
  };
  return { ...deps, pressure: { ...deps.pressure, throttled } };
}

/** What another handler of a request has stored was its commit. */
function noteStored(
  { pressure }: StoreDeps,
  topic: Topic,
  { segment, parts, outcome }: SegmentLayout & { readonly outcome: CommitOutcome },
): void {
  const members = outcome.outcome === 'done' ? outcome.members : [];
  let [messages, bytes] = [0, 0];
  for (const [index, member] of members.entries()) {
    if (member.outcome !== 'stored' || member.again) continue;
    messages += parts[index]?.part.count ?? 0;
    bytes += parts[index]?.part.bytes ?? 0;
  }
  if (messages > 0) pressure.committed(topic, segment, { messages, bytes });
}

async function commitSegment(
  deps: StoreDeps,
  place: { readonly topic: TopicId; readonly object: ObjectRef; readonly segment: SegmentLayout },
  signal: AbortSignal,
): Promise<CommitOutcome> {
  return commitBatch(deps, commitRequest(place), signal).catch((error: unknown): CommitOutcome => {
    return { outcome: 'failed', error: asKelpError(deps, error, 'indefinite') };
  });
}

function commitRequest(place: { readonly topic: TopicId; readonly object: ObjectRef; readonly segment: SegmentLayout }): CommitRequest {
  const { topic, object, segment } = place;
  // Parts with either of these are groups of their own.
  const { matchTail, recorded } = segment.parts[0]?.part ?? {};
  return {
    topic,
    segment: segment.segment,
    object,
    members: segment.parts.map((placed) => placed.member),
    ...(matchTail === undefined ? {} : { matchTail }),
    ...(recorded === undefined ? {} : { recorded }),
  };
}

function partOutcome(outcome: CommitOutcome, index: number): PartOutcome {
  if (outcome.outcome === 'failed') return outcome;
  if (outcome.outcome === 'done') return outcome.members[index] ?? { outcome: 'again' };
  return { outcome: 'dead', because: outcome.because, guard: outcome.head.guard, tail: outcome.head.tail };
}

function asKelpError(deps: StoreDeps, error: unknown, kind: 'unavailable' | 'indefinite'): KelpError {
  if (error instanceof KelpError) return error;
  deps.telemetry.log('error', 'storing a group failed unexpectedly', { error: String(error) });
  return new KelpError(kind, kind, 'storing the messages failed', { cause: error });
}

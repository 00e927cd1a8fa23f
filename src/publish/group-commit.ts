import { KelpError } from '../model/errors.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import {
  COMMIT_MS_MAX,
  FLUSH_MS_MAX,
  GROUP_BYTES_EAGER,
  GROUP_BYTES_MAX,
  GROUP_LINGER_MS,
  GROUP_LINGER_MS_MIN,
  GROUP_PATIENCE_MAX,
  GROUP_SEGMENTS_EAGER,
  GROUP_SLOT_MS_MAX,
  GROUPS_IN_FLIGHT_MAX,
} from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { gather, linesOf, type Queued } from './gather.ts';
import type { Part, PartOutcome, Submission } from './part.ts';
import { createSpiller } from './spill.ts';
import { createPutOff, type PutOff } from './put-off.ts';
import { type StoreDeps, storeGroup } from './store-group.ts';
import { createUndecided, type Undecided } from './undecided.ts';

export type GroupDeps = Omit<StoreDeps, 'spiller'>;

/** Stores submissions in groups: one object and, for each segment in it, one commit. */
export type GroupCommit = {
  /**
   * Resolves with an outcome for each part, in order, as soon as these are decided. An aborted signal takes the submission
   * out of the queue and rejects with its reason. Once its group has begun, the group goes on for the others that are in it,
   * and the outcome is `indefinite`; with the last of them it ends, and that one gets the outcome as it is.
   */
  submit(submission: Submission, signal: AbortSignal): Promise<readonly PartOutcome[]>;
};

export type OwnGroups = GroupCommit & {
  /** Resolves once all that is held of these segments now is decided, after FLUSH_MS_MAX at the latest. */
  flush(topic: TopicId, segments: readonly SegmentId[], signal: AbortSignal): Promise<void>;
};

type Waiting = Queued & {
  readonly sinceMs: number;
  readonly outcomes: Map<Part, PartOutcome>;
  group: Group | undefined;
  /** Answers, once there is an outcome for each part. */
  readonly settle: () => void;
};

/** A group that has begun. `callers`: those that still wait for it. */
type Group = { callers: number; readonly members: readonly Waiting[]; readonly abandoned: AbortController };

/** One topic's queue on this instance. `topic`: as the last caller knows it. `slots`: groups that keep others back. `wakeUp`: ends the linger. */
type Lane = {
  readonly deps: StoreDeps;
  readonly close: () => void;
  readonly busyLines: Set<string>;
  readonly putOff: PutOff;
  readonly running: Set<Group>;
  readonly undecided: Undecided;
  topic: Topic;
  queue: Waiting[];
  queuedBytes: number;
  slots: number;
  wakeUp: AbortController | undefined;
};

export function createGroupCommit(groupDeps: GroupDeps): OwnGroups {
  const deps: StoreDeps = { ...groupDeps, spiller: createSpiller(groupDeps) };
  const lanes = new Map<TopicId, Lane>();
  return {
    submit(submission, signal) {
      const { topic } = submission;
      const lane = lanes.get(topic.id) ?? openLane(deps, topic, () => lanes.delete(topic.id));
      lane.topic = topic;
      lanes.set(topic.id, lane);
      return enqueue(lane, submission, signal);
    },
    async flush(topic, segments, signal) {
      signal.throwIfAborted();
      const lane = lanes.get(topic);
      if (lane !== undefined) await flush(lane, new Set(segments), signal);
    },
  };
}

function openLane(deps: StoreDeps, topic: Topic, close: () => void): Lane {
  const own = { busyLines: new Set<string>(), putOff: createPutOff(), running: new Set<Group>(), undecided: createUndecided() };
  return { deps, topic, close, ...own, queue: [], queuedBytes: 0, slots: 0, wakeUp: undefined };
}

async function flush(lane: Lane, segments: ReadonlySet<SegmentId>, signal: AbortSignal): Promise<void> {
  const held = [...lane.queue, ...[...lane.running].flatMap((group) => group.members)];
  const parts = held.flatMap(({ submission, outcomes }) =>
    submission.parts.filter((part) => segments.has(part.segment) && !outcomes.has(part)),
  );
  if (parts.length === 0) return;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    await Promise.race([lane.undecided.wait(parts, either), lane.deps.clock.sleep(FLUSH_MS_MAX, either)]);
  } finally {
    over.abort();
  }
}

function enqueue(lane: Lane, submission: Submission, signal: AbortSignal): Promise<readonly PartOutcome[]> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      if (waiting.group !== undefined) {
        if (leave(waiting.group, signal.reason)) resolve(submission.parts.map(() => abandoned(signal.reason)));
        return;
      }
      dequeue(lane, new Set([waiting]));
      for (const part of submission.parts) lane.undecided.settle(part);
      reject(signal.reason as Error);
      pump(lane);
    };
    const waiting: Waiting = {
      submission,
      bytes: submission.parts.reduce((sum, part) => sum + part.bytes, 0),
      sinceMs: lane.deps.clock.monotonicMs(),
      outcomes: new Map(),
      group: undefined,
      settle() {
        signal.removeEventListener('abort', onAbort);
        if (waiting.group !== undefined && !signal.aborted) leave(waiting.group, undefined);
        resolve(submission.parts.flatMap((part) => waiting.outcomes.get(part) ?? []));
      },
    };
    signal.addEventListener('abort', onAbort, { once: true });
    lane.queue.push(waiting);
    lane.queuedBytes += waiting.bytes;
    pump(lane);
  });
}

function dequeue(lane: Lane, taken: ReadonlySet<Waiting>): void {
  lane.queue = lane.queue.filter((waiting) => !taken.has(waiting));
  for (const waiting of taken) lane.queuedBytes -= waiting.bytes;
}

/** Whether others still wait. When nobody does, the group ends: its exact outcome is worth more than its success. */
function leave(group: Group, reason: unknown): boolean {
  group.callers -= 1;
  if (group.callers === 0) group.abandoned.abort(reason);
  return group.callers > 0;
}

function abandoned(cause: unknown): PartOutcome {
  const message = 'the caller stopped waiting while the messages were being stored';
  return { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', message, { cause }) };
}

/** Starts groups while the lane may have more of them in flight; closes a lane that has nothing to do. */
function pump(lane: Lane): void {
  while (mayStart(lane)) {
    const group = gather(
      lane.queue,
      lane.busyLines,
      lane.putOff.busy(lane.queue, (waiting) => waitedMs(lane, waiting)),
    );
    if (group.length === 0) break;
    dequeue(lane, new Set(group));
    void run(lane, group);
  }
  if (lane.queue.length > 0) void linger(lane);
  else endLinger(lane);
  if (lane.queue.length === 0 && lane.running.size === 0) lane.close();
}

/** An idle lane starts at once; beside others, a group gathers until it is large, or has waited long enough. */
function mayStart(lane: Lane): boolean {
  const oldest = lane.queue[0];
  if (oldest === undefined || lane.slots >= GROUPS_IN_FLIGHT_MAX) return false;
  if (lane.slots === 0) return true;
  return (
    lane.queuedBytes >= Math.min(GROUP_BYTES_MAX, GROUP_BYTES_EAGER * patience(oldest)) || waitedMs(lane, oldest) >= lingerMs(lane, oldest)
  );
}

/** Beside one group alone the next one gathers only shortly: at a low rate it would wait longer than it takes. */
function lingerMs(lane: Lane, oldest: Waiting): number {
  return (lane.slots === 1 ? GROUP_LINGER_MS_MIN : GROUP_LINGER_MS) * patience(oldest);
}

/**
 * A group has a commit for each segment that it touches, and the table takes only so many: over many segments a group
 * gathers longer, so that there are fewer and larger ones.
 */
function patience({ submission }: Waiting): number {
  return Math.min(Math.max(1, submission.topic.open.length / GROUP_SEGMENTS_EAGER), GROUP_PATIENCE_MAX);
}

const waitedMs = (lane: Lane, waiting: Waiting): number => lane.deps.clock.monotonicMs() - waiting.sinceMs;

/** Looks again once the oldest has waited its time. A lane with all groups in flight looks when one of them ends. */
async function linger(lane: Lane): Promise<void> {
  const oldest = lane.queue[0];
  if (oldest === undefined || lane.wakeUp !== undefined || lane.slots >= GROUPS_IN_FLIGHT_MAX) return;
  const wakeUp = new AbortController();
  lane.wakeUp = wakeUp;
  // A timer may be early by a part of a millisecond. One that has waited long enough waits for another batch of its line.
  const leftMs = Math.ceil(lingerMs(lane, oldest) - waitedMs(lane, oldest));
  try {
    await lane.deps.clock.sleep(leftMs > 0 ? leftMs : GROUP_LINGER_MS, wakeUp.signal);
  } catch (reason) {
    if (!wakeUp.signal.aborted) throw reason;
  }
  if (wakeUp.signal.aborted) return;
  lane.wakeUp = undefined;
  pump(lane);
}

/** At once: what is queued next begins a linger of its own. */
function endLinger(lane: Lane): void {
  lane.wakeUp?.abort();
  lane.wakeUp = undefined;
}

async function run(lane: Lane, members: readonly Waiting[]): Promise<void> {
  const { deps, topic } = lane;
  const group: Group = { callers: members.length, members, abandoned: new AbortController() };
  const slot = takeSlot(lane);
  lane.running.add(group);
  const owners = new Map<Part, Waiting>();
  for (const waiting of members) {
    waiting.group = group;
    waiting.submission.hold.share();
    for (const line of linesOf(waiting.submission)) lane.busyLines.add(line);
    for (const part of waiting.submission.parts) owners.set(part, waiting);
  }
  const signal = AbortSignal.any([deps.clock.deadline(COMMIT_MS_MAX), group.abandoned.signal]);
  const settle = (part: Part, outcome: PartOutcome): void => {
    const owner = owners.get(part);
    owner?.outcomes.set(part, outcome);
    lane.undecided.settle(part);
    // Its own parts are decided: what else is in the group is not worth waiting for.
    if (owner !== undefined && owner.outcomes.size === owner.submission.parts.length) end(lane, owner);
  };
  const queuedMs = (part: Part): number => {
    const owner = owners.get(part);
    return owner === undefined ? 0 : waitedMs(lane, owner);
  };
  const putOff = (segment: SegmentId): void => {
    lane.putOff.note(segment, group);
    // Its neighbours must not wait for it.
    slot.free();
    pump(lane);
  };
  const decided = (segment: SegmentId): void => {
    lane.putOff.over(segment, group);
    pump(lane);
  };
  await storeGroup(deps, { topic, parts: [...owners.keys()] }, { queuedMs, uploaded: slot.freeSoon, putOff, settle, decided }, signal);
  lane.running.delete(group);
  slot.free();
  pump(lane);
}

function end(lane: Lane, waiting: Waiting): void {
  for (const line of linesOf(waiting.submission)) lane.busyLines.delete(line);
  waiting.settle();
  waiting.submission.hold.release();
}

/** A group keeps others back until it ends, or until it is clear that a commit keeps it waiting. */
function takeSlot(lane: Lane): { readonly free: () => void; readonly freeSoon: () => void } {
  const over = new AbortController();
  lane.slots += 1;
  const free = (): void => {
    if (over.signal.aborted) return;
    over.abort();
    lane.slots -= 1;
  };
  const freeSoon = (): void => {
    const freeNow = (): void => {
      free();
      pump(lane);
    };
    // Freed before, the sleep ends with the abort, and there is nothing left to do.
    lane.deps.clock.sleep(GROUP_SLOT_MS_MAX, over.signal).then(freeNow, () => undefined);
  };
  return { free, freeSoon };
}

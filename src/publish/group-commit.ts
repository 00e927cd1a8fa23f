import { KelpError } from '../model/errors.ts';
import type { TopicId } from '../model/ids.ts';
import { GROUP_BYTES_EAGER, GROUP_LINGER_MS, GROUPS_IN_FLIGHT_MAX } from '../model/limits.ts';
import { gather, linesOf, type Queued } from './gather.ts';
import type { Part, PartOutcome, Submission } from './part.ts';
import { createSpiller } from './spill.ts';
import { type StoreDeps, storeGroup } from './store-group.ts';

export type GroupDeps = Omit<StoreDeps, 'spiller'>;

/** Stores submissions in groups: one object and, for each segment in it, one commit. */
export type GroupCommit = {
  /**
   * Resolves with an outcome for each part, in order. An aborted signal takes the submission out of the queue and rejects
   * with its reason. Once its group has begun, the group goes on (others are in it), and the outcome is `indefinite`.
   */
  submit(submission: Submission, signal: AbortSignal): Promise<readonly PartOutcome[]>;
};

type Waiting = Queued & {
  readonly sinceMs: number;
  begun: boolean;
  readonly settle: (outcomes: readonly PartOutcome[]) => void;
};

/** One topic's queue on this instance. `wakeUp`: somebody waits for the linger to end. */
type Lane = {
  readonly deps: StoreDeps;
  readonly topic: TopicId;
  readonly close: () => void;
  readonly busyLines: Set<string>;
  queue: Waiting[];
  inFlight: number;
  wakeUp: AbortController | undefined;
};

export function createGroupCommit(groupDeps: GroupDeps): GroupCommit {
  const deps: StoreDeps = { ...groupDeps, spiller: createSpiller(groupDeps) };
  const lanes = new Map<TopicId, Lane>();
  return {
    submit(submission, signal) {
      const topic = submission.topic.id;
      const lane = lanes.get(topic) ?? openLane(deps, topic, () => lanes.delete(topic));
      lanes.set(topic, lane);
      return enqueue(lane, submission, signal);
    },
  };
}

function openLane(deps: StoreDeps, topic: TopicId, close: () => void): Lane {
  return { deps, topic, close, busyLines: new Set(), queue: [], inFlight: 0, wakeUp: undefined };
}

function enqueue(lane: Lane, submission: Submission, signal: AbortSignal): Promise<readonly PartOutcome[]> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      if (waiting.begun) return resolve(submission.parts.map(() => abandoned(signal.reason)));
      lane.queue = lane.queue.filter((other) => other !== waiting);
      reject(signal.reason as Error);
      pump(lane);
    };
    const waiting: Waiting = {
      submission,
      bytes: submission.parts.reduce((sum, part) => sum + part.bytes, 0),
      sinceMs: lane.deps.clock.monotonicMs(),
      begun: false,
      settle(outcomes) {
        signal.removeEventListener('abort', onAbort);
        resolve(outcomes);
      },
    };
    signal.addEventListener('abort', onAbort, { once: true });
    lane.queue.push(waiting);
    pump(lane);
  });
}

function abandoned(cause: unknown): PartOutcome {
  const message = 'the caller stopped waiting while the messages were being stored';
  return { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', message, { cause }) };
}

/** Starts groups while the lane may have more of them in flight; closes a lane that has nothing to do. */
function pump(lane: Lane): void {
  while (mayStart(lane)) {
    const group = gather(lane.queue, lane.busyLines);
    if (group.length === 0) break;
    const taken = new Set(group);
    lane.queue = lane.queue.filter((waiting) => !taken.has(waiting));
    void run(lane, group);
  }
  if (lane.queue.length > 0) void linger(lane);
  else lane.wakeUp?.abort();
  if (lane.queue.length === 0 && lane.inFlight === 0) lane.close();
}

/** An idle lane starts at once; beside others, a group gathers until it is large, or has waited long enough. */
function mayStart(lane: Lane): boolean {
  const oldest = lane.queue[0];
  if (oldest === undefined || lane.inFlight >= GROUPS_IN_FLIGHT_MAX) return false;
  if (lane.inFlight === 0) return true;
  const bytes = lane.queue.reduce((sum, waiting) => sum + waiting.bytes, 0);
  return bytes >= GROUP_BYTES_EAGER || lane.deps.clock.monotonicMs() - oldest.sinceMs >= GROUP_LINGER_MS;
}

/** Looks again once the oldest has waited its time. A lane with all groups in flight looks when one of them ends. */
async function linger(lane: Lane): Promise<void> {
  if (lane.wakeUp !== undefined || lane.inFlight >= GROUPS_IN_FLIGHT_MAX) return;
  const wakeUp = new AbortController();
  lane.wakeUp = wakeUp;
  try {
    await lane.deps.clock.sleep(GROUP_LINGER_MS, wakeUp.signal);
  } catch (reason) {
    if (!wakeUp.signal.aborted) throw reason;
  } finally {
    lane.wakeUp = undefined;
  }
  if (!wakeUp.signal.aborted) pump(lane);
}

async function run(lane: Lane, group: readonly Waiting[]): Promise<void> {
  const lines = group.flatMap((waiting) => linesOf(waiting.submission));
  for (const line of lines) lane.busyLines.add(line);
  for (const waiting of group) waiting.begun = true;
  lane.inFlight += 1;
  const parts: Part[] = group.flatMap((waiting) => waiting.submission.parts);
  const outcomes = await storeGroup(lane.deps, lane.topic, parts);
  lane.inFlight -= 1;
  for (const line of lines) lane.busyLines.delete(line);
  for (const waiting of group) waiting.settle(waiting.submission.parts.map((part) => outcomes.get(part) ?? { outcome: 'again' }));
  pump(lane);
}

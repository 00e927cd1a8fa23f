import { Worker } from 'node:worker_threads';
import {
  ARCHIVE_HEAP_MB_MAX,
  ARCHIVE_RESTART_MS_MAX,
  ARCHIVE_RESTART_MS_MIN,
  ARCHIVE_STOP_MS_MAX,
  ARCHIVE_YOUNG_HEAP_MB_MAX,
} from '../model/archive-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { createRelay, type ThreadMessage } from './thread-telemetry.ts';

/** What is needed of a thread. */
export type Thread = Pick<Worker, 'once' | 'on' | 'postMessage' | 'terminate'>;

export type ArchiveThreadDeps = {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Takes the thread's log lines. */
  readonly write: (line: string) => void;
  readonly begin?: () => Thread;
};

export type ArchiveThread = {
  /** Ends it, in the middle of a file if need be: what was begun is carried on by others. */
  stop(): Promise<void>;
};

/** Keeps a thread at work that archives messages. One that ends by itself is told, and begun again, ever more rarely. */
export function startArchiveThread(deps: ArchiveThreadDeps): ArchiveThread {
  const life = new AbortController();
  const running = keepRunning({ begin: beginThread, ...deps }, life.signal);
  return {
    stop() {
      life.abort();
      return running;
    },
  };
}

const beginThread = (): Thread =>
  new Worker(new URL('./archive-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: ARCHIVE_HEAP_MB_MAX, maxYoungGenerationSizeMb: ARCHIVE_YOUNG_HEAP_MB_MAX },
  });

async function keepRunning(deps: Required<ArchiveThreadDeps>, life: AbortSignal): Promise<void> {
  const { clock, telemetry } = deps;
  for (let waitMs = ARCHIVE_RESTART_MS_MIN; !life.aborted;) {
    const beganMs = clock.monotonicMs();
    const error = await runOnce(deps, life);
    if (life.aborted) return;
    // One that has worked for long did not end for what it finds at its start.
    if (clock.monotonicMs() - beganMs > ARCHIVE_RESTART_MS_MAX) waitMs = ARCHIVE_RESTART_MS_MIN;
    telemetry.count('kelp.archive.crashes', 1);
    telemetry.log('error', 'the archiver has ended, and begins again', { error, waitMs });
    await clock.sleep(waitMs, life).catch((reason: unknown) => {
      if (!life.aborted) throw reason;
    });
    waitMs = Math.min(2 * waitMs, ARCHIVE_RESTART_MS_MAX);
  }
}

/** Answers why it has ended. Never rejects. */
async function runOnce({ clock, telemetry, write, begin }: Required<ArchiveThreadDeps>, life: AbortSignal): Promise<unknown> {
  const relay = createRelay({ telemetry, write });
  const thread = begin();
  let cause: unknown;
  thread.on('message', (message: ThreadMessage) => relay.take(message));
  thread.on('error', (error: unknown) => {
    cause = error;
  });
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
  const stop = (): void => {
    thread.postMessage('stop', []);
    // Whatever it does meanwhile, the process ends.
    const over = clock.deadline(ARCHIVE_STOP_MS_MAX);
    over.addEventListener('abort', () => void thread.terminate(), { once: true });
  };
  life.addEventListener('abort', stop, { once: true });
  await ended;
  life.removeEventListener('abort', stop);
  relay.end();
  return cause ?? 'it has left';
}

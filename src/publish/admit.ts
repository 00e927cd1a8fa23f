import { KelpError } from '../model/errors.ts';
import { QUEUE_BYTES_MAX } from '../model/limits.ts';
import type { Message } from '../model/message.ts';
import type { PublishContent } from './request.ts';

/** Bounds what this instance holds un-acked, and knows when it holds nothing. */
export type Admission = {
  /** Takes bytes for one user, or throws `unavailable`. */
  admit(bytes: number): Hold;
  /** Whether anything would be refused now. */
  isFull(): boolean;
  /** Refuses from now on; resolves once everything was given back, or rejects with the signal's reason. */
  stop(signal: AbortSignal): Promise<void>;
};

/**
 * Admitted bytes. They are given back when the last user has released them: a group goes on with them when the caller that
 * brought them has gone.
 */
export type Hold = { share(): void; release(): void };

const RETRY_AFTER_MS = 1_000;

export function createAdmission(bytesMax: number = QUEUE_BYTES_MAX): Admission {
  let held = 0;
  let admitted = 0;
  let stopping = false;
  const idle = new Set<() => void>();
  return {
    isFull: () => stopping || held >= bytesMax,
    admit(bytes) {
      if (stopping) throw new KelpError('unavailable', 'unavailable', 'this broker is stopping', { retryAfterMs: RETRY_AFTER_MS });
      // One request always fits into an empty broker, whatever the bound.
      if (held > 0 && held + bytes > bytesMax) {
        throw new KelpError('unavailable', 'unavailable', 'this broker holds as many messages as it may', { retryAfterMs: RETRY_AFTER_MS });
      }
      held += bytes;
      admitted += 1;
      return createHold(() => {
        held -= bytes;
        admitted -= 1;
        if (admitted === 0) for (const wake of idle) wake();
      });
    },
    stop(signal) {
      stopping = true;
      if (admitted === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const onAbort = (): void => reject(signal.reason as Error);
        idle.add(() => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        });
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}

function createHold(giveBack: () => void): Hold {
  let users = 1;
  return {
    share() {
      users += 1;
    },
    release() {
      users -= 1;
      if (users === 0) giveBack();
    },
  };
}

/** A bound from above of what the content takes in memory, roughly. */
export function contentBytes(content: PublishContent): number {
  if (content.kind === 'batches') return content.batches.reduce((sum, batch) => sum + batch.bytes.length, 0);
  // Its bytes stay in the store; what is here are the partitions of its records.
  if (content.kind === 'uploaded') return content.batches.reduce((sum, batch) => sum + PARTITION_BYTES * batch.partitions.length, 0);
  return content.messages.reduce((sum, message) => sum + messageBytes(message), 0);
}

function messageBytes({ key, value, headers }: Message): number {
  let bytes = key.length + (value?.length ?? 0) + MESSAGE_OVERHEAD_BYTES;
  for (const header of headers) bytes += header.name.length + (header.value?.length ?? 0) + HEADER_OVERHEAD_BYTES;
  return bytes;
}

const MESSAGE_OVERHEAD_BYTES = 100;
const HEADER_OVERHEAD_BYTES = 50;
const PARTITION_BYTES = 8;

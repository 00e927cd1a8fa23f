import type { Part } from './part.ts';

/** Parts that somebody wants to see decided, before their segment is sealed. */
export type Undecided = {
  /** Its outcome is known, or it will never be sent. */
  settle(part: Part): void;
  /** Resolves once all of these are; rejects with the signal's reason. */
  wait(parts: readonly Part[], signal: AbortSignal): Promise<void>;
};

export function createUndecided(): Undecided {
  const watchers = new Set<(part: Part) => void>();
  return {
    settle(part) {
      for (const watch of watchers) watch(part);
    },
    wait(parts, signal) {
      const open = new Set(parts);
      if (open.size === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          watchers.delete(watch);
          reject(signal.reason as Error);
        };
        const watch = (part: Part): void => {
          open.delete(part);
          if (open.size > 0) return;
          watchers.delete(watch);
          signal.removeEventListener('abort', onAbort);
          resolve();
        };
        watchers.add(watch);
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}

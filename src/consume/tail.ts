import type { Head } from '../model/head.ts';
import type { Clock } from '../ports/clock.ts';
import type { Heads } from '../state/heads.ts';
import { openScope } from '../state/abortable.ts';
import { createWatches, type Watch, type Watched } from './watches.ts';

/** `isNews`: whether this state of the head is what the caller waits for. */
export type TailWait = Watched & { readonly isNews: (head: Head) => boolean };

export type Tail = {
  /**
   * Waits until one of the segments has news, and answers its head; undefined when `waitMs` is over. What this instance
   * commits wakes at once, the rest is seen within TAIL_POLL_MS_MAX. Errors: the signal's reason; `segment-not-found` where
   * a head is gone; what the table last said where it could not be asked, since "nothing" must mean that there is nothing.
   */
  wait(waits: readonly TailWait[], waitMs: number, signal: AbortSignal): Promise<Head | undefined>;
};

export function createTail(deps: { readonly heads: Heads; readonly clock: Clock }): Tail {
  const watches = createWatches(deps);
  return {
    async wait(waits, waitMs, signal) {
      signal.throwIfAborted();
      // A commit between the caller's look and this call: nothing can come between this and the watches.
      const already = knownNews(deps.heads, waits);
      if (already !== undefined) return already;
      const scope = openScope(signal);
      const joined: Watch[] = [];
      try {
        const news = new Promise<Head>((resolve, reject) => {
          for (const wait of waits) {
            const onHead = (head: Head): void => (wait.isNews(head) ? resolve(head) : undefined);
            joined.push(watches.join(wait, { onHead, onError: reject }));
          }
        });
        const over = deps.clock.sleep(waitMs, scope.signal).then(() => undefined);
        const head = await Promise.race([news, over]);
        const trouble = head === undefined ? joined.map((watch) => watch.trouble()).find((error) => error !== undefined) : undefined;
        if (trouble !== undefined) throw trouble.error;
        return head;
      } finally {
        for (const watch of joined) watch.leave();
        scope.end();
      }
    },
  };
}

function knownNews(heads: Heads, waits: readonly TailWait[]): Head | undefined {
  for (const { topic, segment, isNews } of waits) {
    const head = heads.known(topic, segment);
    if (head !== undefined && isNews(head)) return head;
  }
  return undefined;
}

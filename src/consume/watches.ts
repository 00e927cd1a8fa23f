import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import { TAIL_POLL_MS_MAX, TAIL_POLL_MS_MIN, TAIL_POLL_SPACING_MS } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Heads } from '../state/heads.ts';

export type Watched = { readonly topic: TopicId; readonly segment: SegmentId };
export type Watcher = { readonly onHead: (head: Head) => void; readonly onError: (error: unknown) => void };

/** Segments whose heads somebody waits on: one poller each, whatever the number of watchers, and none for the others. */
export type Watches = {
  /** Tells the watcher each state that is seen, until `leave` is called. */
  join(watched: Watched, watcher: Watcher): Watch;
};
export type Watch = {
  readonly leave: () => void;
  /** Why the last look failed, if it did. */
  readonly trouble: () => Trouble | undefined;
};

type Trouble = { readonly error: unknown };
type Group = {
  readonly watchers: Set<Watcher>;
  readonly controller: AbortController;
  readonly unsubscribe: () => void;
  trouble: Trouble | undefined;
};

export function createWatches(deps: { readonly heads: Heads; readonly clock: Clock }): Watches {
  const groups = new Map<string, Group>();

  function begin(name: string, watched: Watched): Group {
    const watchers = new Set<Watcher>();
    const tell = (head: Head): void => watchers.forEach((watcher) => watcher.onHead(head));
    const unsubscribe = deps.heads.subscribe(watched.topic, watched.segment, tell);
    const group: Group = { watchers, controller: new AbortController(), unsubscribe, trouble: undefined };
    groups.set(name, group);
    void poll(group, watched);
    return group;
  }

  /** Never rejects. The pause grows, since most waits are long; many watches share the table's patience. */
  async function poll(group: Group, watched: Watched): Promise<void> {
    const { signal } = group.controller;
    for (let pauseMs = TAIL_POLL_MS_MIN; !signal.aborted; pauseMs = Math.min(pauseMs * 1.5, TAIL_POLL_MS_MAX)) {
      try {
        await deps.clock.sleep(Math.max(pauseMs, groups.size * TAIL_POLL_SPACING_MS), signal);
        const head = await look(watched, signal);
        group.trouble = undefined;
        group.watchers.forEach((watcher) => watcher.onHead(head));
      } catch (error) {
        group.trouble = { error };
        if (!isTransient(error)) group.watchers.forEach((watcher) => watcher.onError(error));
      }
    }
  }

  async function look({ topic, segment }: Watched, signal: AbortSignal): Promise<Head> {
    const head = await deps.heads.read(topic, segment, signal);
    if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `segment ${segment} is gone`);
    return head;
  }

  function leave(name: string, group: Group, watcher: Watcher): void {
    group.watchers.delete(watcher);
    if (group.watchers.size > 0 || group.controller.signal.aborted) return;
    groups.delete(name);
    group.unsubscribe();
    group.controller.abort();
  }

  return {
    join(watched, watcher) {
      const name = `${watched.topic}/${watched.segment}`;
      const group = groups.get(name) ?? begin(name, watched);
      group.watchers.add(watcher);
      return { leave: () => leave(name, group, watcher), trouble: () => group.trouble };
    },
  };
}

/** The table will answer again; a look that failed once says nothing about the segment. */
function isTransient(error: unknown): boolean {
  return error instanceof KelpError && (error.kind === 'throttled' || error.kind === 'unavailable');
}

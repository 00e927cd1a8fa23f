import type { Head } from '../model/head.ts';
import { SPILL_MS_MAX } from '../model/limits.ts';
import { isToSpill } from '../protocol/spill.ts';
import { askThroughThrottling } from '../state/ask-again.ts';
import { spill } from '../state/spill.ts';
import type { CommitDeps } from './commit-deps.ts';

/** Spills in the background what this instance's own commits have made long enough; one at a time for each segment. */
export function createSpiller(deps: CommitDeps): Spiller {
  const running = new Set<string>();
  const insistent = { ...deps, table: insisting(deps) };
  return {
    committed(head) {
      const { topic, segment } = head;
      const name = `${topic}/${segment}`;
      if (!isToSpill(head) || running.has(name)) return;
      running.add(name);
      deps.background.run('spill', SPILL_MS_MAX, async (signal) => {
        try {
          await spill(insistent, deps.heads.known(topic, segment) ?? head, signal);
          deps.telemetry.count('kelp.spills', 1);
        } finally {
          running.delete(name);
        }
      });
    },
  };
}

export type Spiller = {
  /** A commit of this instance has left the head like that. */
  committed(head: Head): void;
};

/** Nobody else is at it, and the longer the head is, the more each commit to it costs. */
function insisting(deps: CommitDeps): CommitDeps['table'] {
  const { table } = deps;
  return {
    ...table,
    put: (key, item, condition, signal) => askThroughThrottling(deps, () => table.put(key, item, condition, signal), signal),
    update: (key, update, signal) => askThroughThrottling(deps, () => table.update(key, update, signal), signal),
  };
}

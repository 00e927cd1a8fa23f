import { decodeHead } from '../format/head-item.ts';
import { headKey, pageKey } from '../format/item-key.ts';
import { decodePage, encodePage } from '../format/page-item.ts';
import { KelpError } from '../model/errors.ts';
import type { Head, Page } from '../model/head.ts';
import { SPILL_MS_MAX } from '../model/limits.ts';
import { isToSpill, pageAbsent, pageOf, spillUpdate } from '../protocol/spill.ts';
import { askThroughThrottling } from '../state/ask-again.ts';
import type { CommitDeps } from './commit-deps.ts';

/**
 * Moves the head's entries into a page: the page first, then the head. Killed in between, the page is adopted by the next
 * spiller. Refused, somebody else moved them. Answers the head as it is afterwards. Also for sealed heads.
 */
export async function spill(deps: Pick<CommitDeps, 'table' | 'heads'>, head: Head, signal: AbortSignal): Promise<Head> {
  const own = pageOf(head);
  if (own === undefined) return head;
  const page = await putPage(deps, head, own, signal);
  const result = await deps.table.update(headKey(head.topic, head.segment), spillUpdate(head, page), signal);
  if (result.item === undefined) throw new KelpError('not-found', 'segment-not-found', 'the segment has no head any more');
  const after = decodeHead(result.item);
  deps.heads.offer(after);
  return after;
}

async function putPage(deps: Pick<CommitDeps, 'table'>, head: Head, page: Page, signal: AbortSignal): Promise<Page> {
  const put = await deps.table.put(pageKey(head.topic, head.segment, page.first), encodePage(page), pageAbsent, signal);
  return put.applied || put.item === undefined ? page : decodePage(put.item);
}

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

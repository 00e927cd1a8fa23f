import { encodeDeletion } from '../format/deletion-item.ts';
import { deletionKey, nameKey } from '../format/item-key.ts';
import type { Topic } from '../model/topic.ts';
import type { Update } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';

/**
 * Frees the name of a deleted topic, and hands the segment counter on. The record of the deletion comes first: from then
 * on, only it leads to the objects. Refused updates mean that it was done before.
 */
export async function freeName(deps: TopologyDeps, topic: Topic, signal: AbortSignal): Promise<void> {
  const deletion = encodeDeletion({ topic: topic.id, name: topic.name, state: 'pending', atMs: deps.clock.nowMs() });
  const record = deletionKey(topic.tenant, topic.id);
  await askAgain(deps, () => deps.table.put(record, deletion, [{ op: 'missing', path: ['topic'] }], signal), signal);
  const release: Update = {
    condition: [{ op: '=', path: ['topic'], value: topic.id }],
    changes: [
      { op: 'remove', path: ['topic'] },
      { op: 'set', path: ['nextSegment'], value: topic.nextSegment },
      { op: 'add', path: ['version'], value: 1 },
    ],
  };
  await askAgain(deps, () => deps.table.update(nameKey(topic.tenant, topic.name), release, signal), signal);
}

import type { Item } from '../../../src/ports/metadata-table.ts';
import type { StoredMessage } from './stored-message.ts';

/** What one reader of a whole topic was given, in order, as `segment@offset`. */
export type Reads = readonly string[];

/**
 * Within a segment, a reader is given every offset in turn; and nothing of a segment before all of its predecessors, to
 * their sealed ends. `old`: messages that must not appear, for a reader of new ones (which begins wherever they end).
 */
export function checkReads(
  reads: Reads,
  heads: ReadonlyMap<string, Item>,
  options: { readonly old: ReadonlySet<string>; readonly messages: readonly StoredMessage[]; readonly fromStart: boolean },
): string | undefined {
  const next = new Map<string, number>();
  for (const place of reads) {
    const [segment = '', text] = place.split('@');
    const offset = Number(text);
    const message = options.messages.find((stored) => stored.segment === segment && stored.offset === offset)?.message;
    if (message !== undefined && options.old.has(message)) return `old-as-new: ${message} at ${place} was there before`;
    const expected = next.get(segment) ?? (options.fromStart ? 0 : offset);
    if (offset !== expected) return `skip: ${segment} was read at ${offset} where ${expected} comes next`;
    if (options.fromStart) {
      const unread = unreadPredecessor(segment, heads, next);
      if (unread !== undefined) return `early: ${segment} was read before the end of ${unread}`;
    }
    next.set(segment, offset + 1);
  }
  return undefined;
}

function unreadPredecessor(segment: string, heads: ReadonlyMap<string, Item>, next: ReadonlyMap<string, number>): string | undefined {
  const predecessors = (heads.get(segment)?.['predecessors'] ?? []) as readonly string[];
  for (const predecessor of predecessors) {
    const head = heads.get(predecessor);
    if (head?.['state'] !== 'sealed' || (next.get(predecessor) ?? 0) < Number(head['tail'])) return predecessor;
    const deeper = unreadPredecessor(predecessor, heads, next);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

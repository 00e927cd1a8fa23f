import { encodeSuccessors } from '../format/head-item.ts';
import type { BrokerId } from '../model/ids.ts';
import type { SegmentRange } from '../model/topic.ts';
import type { Update } from '../ports/metadata-table.ts';

// The transitions of a segment: pending → open → sealed. Each may be asked again: refused, it has happened already.

export type Seal = {
  /** The change that seals: whoever carries it on, or has lost the answer, finds its seal by it. */
  readonly change: string;
  readonly successors: readonly SegmentRange[];
  /** Whether the topic is being deleted. */
  readonly deleted: boolean;
};

/**
 * One update in the stream of commits: what lands before it counts, nothing lands after it, and it can't starve. Asked again it
 * is refused, so that the segment ended when it was sealed first; `change` in the head says whose seal that was.
 */
export function sealUpdate(seal: Seal, nowMs: number): Update {
  return {
    condition: [{ op: '=', path: ['state'], value: 'open' }],
    changes: [
      { op: 'set', path: ['state'], value: 'sealed' },
      { op: 'set', path: ['change'], value: seal.change },
      { op: 'set', path: ['successors'], value: encodeSuccessors(seal.successors) },
      { op: 'set', path: ['deleted'], value: seal.deleted },
      { op: 'set', path: ['ended'], value: nowMs },
    ],
  };
}

/** T3: only once every parent is sealed. */
export function openUpdate(nowMs: number): Update {
  return {
    condition: [{ op: '=', path: ['state'], value: 'pending' }],
    changes: [
      { op: 'set', path: ['state'], value: 'open' },
      { op: 'set', path: ['opened'], value: nowMs },
    ],
  };
}

/** Who serves a segment is decided once; new brokers mean a new segment. */
export function assignUpdate(brokers: readonly BrokerId[]): Update {
  return {
    condition: [
      { op: 'or', any: [[{ op: '=', path: ['state'], value: 'open' }], [{ op: '=', path: ['state'], value: 'pending' }]] },
      // Heads of before brokers were assigned have no list.
      { op: 'or', any: [[{ op: 'missing', path: ['brokers'] }], [{ op: 'size<', path: ['brokers'], value: 1 }]] },
    ],
    changes: [{ op: 'set', path: ['brokers'], value: brokers }],
  };
}

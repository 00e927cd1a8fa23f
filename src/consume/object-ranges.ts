import type { Bytes } from '../model/message.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { orAbort } from '../state/abortable.ts';

export type ByteRange = { readonly key: string; readonly start: number; readonly length: number };

/** Ranges of immutable objects, kept in memory within a bound: the least recently used go first. */
export type ObjectRanges = {
  /**
   * The bytes of the range; fewer come back only where the object ends before. Readers of the same or of a contained range
   * share one GET, which ends early only when all of them have left. Errors as the store's.
   */
  get(range: ByteRange, signal: AbortSignal): Promise<Bytes>;
  /** Drops what is kept of this object, so that the next read asks the store. */
  forget(key: string): void;
};

type Stretch = ByteRange & {
  readonly bytes: Promise<Bytes>;
  readonly controller: AbortController;
  /** Bytes held; undefined while the GET is in flight. */
  held: number | undefined;
  readers: number;
};

export function createObjectRanges(deps: {
  readonly store: Pick<ObjectStore, 'getRange'>;
  readonly telemetry: Telemetry;
  readonly bytesMax: number;
}): ObjectRanges {
  const kept = createStretches(deps.bytesMax);

  function begin(range: ByteRange): Stretch {
    const controller = new AbortController();
    const bytes = deps.store.getRange(range.key, range.start, range.length, controller.signal);
    const stretch: Stretch = { ...range, bytes, controller, held: undefined, readers: 0 };
    kept.add(stretch);
    // A failure is its readers'; here it only means that there is nothing to keep. An object that ends early is not kept
    // either: whoever reads again must ask the store.
    bytes.then(
      (got) => (got.length === range.length ? kept.settle(stretch, got.length) : kept.drop(stretch)),
      () => kept.drop(stretch),
    );
    return stretch;
  }

  async function share(stretch: Stretch, signal: AbortSignal): Promise<Bytes> {
    stretch.readers += 1;
    try {
      return await orAbort(stretch.bytes, signal);
    } finally {
      stretch.readers -= 1;
      if (stretch.readers === 0 && stretch.held === undefined) {
        // Nobody wants it any more. Dropped first, so that a later reader begins a GET of its own.
        kept.drop(stretch);
        stretch.controller.abort(signal.reason);
      }
    }
  }

  return {
    async get(range, signal) {
      signal.throwIfAborted();
      const found = kept.find(range);
      deps.telemetry.count('kelp.read.ranges', 1, { cache: found === undefined ? 'miss' : 'hit' });
      const stretch = found ?? begin(range);
      const bytes = await share(stretch, signal);
      const from = range.start - stretch.start;
      return bytes.subarray(from, from + range.length);
    },
    forget(key) {
      kept.forget(key);
    },
  };
}

/** The stretches by object, in order of their last use. */
function createStretches(bytesMax: number) {
  const byUse = new Set<Stretch>();
  const byKey = new Map<string, Set<Stretch>>();
  let total = 0;

  function drop(stretch: Stretch): void {
    if (!byUse.delete(stretch)) return;
    total -= stretch.held ?? 0;
    const same = byKey.get(stretch.key);
    same?.delete(stretch);
    if (same?.size === 0) byKey.delete(stretch.key);
  }

  function find(range: ByteRange): Stretch | undefined {
    for (const stretch of byKey.get(range.key) ?? []) {
      if (stretch.start > range.start || stretch.start + stretch.length < range.start + range.length) continue;
      byUse.delete(stretch);
      byUse.add(stretch);
      return stretch;
    }
    return undefined;
  }

  function settle(stretch: Stretch, bytes: number): void {
    // Forgotten, or left by all, while in flight.
    if (!byUse.has(stretch)) return;
    stretch.held = bytes;
    total += bytes;
    for (const oldest of byUse) {
      if (total <= bytesMax) break;
      if (oldest.held !== undefined) drop(oldest);
    }
  }

  return {
    drop,
    find,
    settle,
    add(stretch: Stretch): void {
      byUse.add(stretch);
      byKey.set(stretch.key, (byKey.get(stretch.key) ?? new Set()).add(stretch));
    },
    forget(key: string): void {
      for (const stretch of byKey.get(key) ?? []) drop(stretch);
    },
  };
}

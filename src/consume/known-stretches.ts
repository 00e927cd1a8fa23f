/** What is known of segments by stretches of their offsets, within a bound of stretches: pages of the index, records of files. */
export type KnownStretches<T> = {
  /** The one that holds this offset. */
  at(segment: string, offset: number): T | undefined;
  /** Those that follow each other from the one that begins at `first` on. */
  from(segment: string, first: number): readonly T[];
  add(segment: string, stretch: T): void;
};

/** `nextOf`: the first offset behind a stretch. */
export function createKnownStretches<T extends { readonly first: number }>(
  stretchesMax: number,
  nextOf: (stretch: T) => number,
): KnownStretches<T> {
  // Each segment's are in order; segments are in the order of their last use.
  const segments = new Map<string, T[]>();
  let total = 0;

  function use(name: string): T[] {
    const stretches = segments.get(name) ?? [];
    segments.delete(name);
    segments.set(name, stretches);
    return stretches;
  }

  function evict(): void {
    for (const [name, stretches] of segments) {
      if (total <= stretchesMax) return;
      // The last one is in use: its readers go upwards.
      total -= segments.size > 1 ? stretches.length : stretches.splice(0, Math.ceil(stretches.length / 2)).length;
      if (segments.size > 1) segments.delete(name);
    }
  }

  return {
    at(name, offset) {
      const stretches = segments.get(name) ?? [];
      const stretch = stretches[firstAbove(stretches, offset) - 1];
      return stretch !== undefined && nextOf(stretch) > offset ? stretch : undefined;
    },
    from(name, first) {
      const stretches = use(name);
      const begin = firstAbove(stretches, first - 1);
      let end = begin;
      for (let next = first, found = stretches[end]; found?.first === next; found = stretches[end]) {
        next = nextOf(found);
        end += 1;
      }
      return stretches.slice(begin, end);
    },
    add(name, stretch) {
      const stretches = use(name);
      const index = firstAbove(stretches, stretch.first);
      if (stretches[index - 1]?.first === stretch.first) return;
      stretches.splice(index, 0, stretch);
      total += 1;
      evict();
    },
  };
}

/** Index of the first stretch that begins above this offset. */
function firstAbove(stretches: readonly { readonly first: number }[], offset: number): number {
  let low = 0;
  let high = stretches.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((stretches[middle]?.first ?? Infinity) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

import type { Bytes } from '../model/message.ts';
import { openScope } from '../state/abortable.ts';
import type { ByteRange, ObjectRanges } from './object-ranges.ts';
import { planRanges } from './plan-ranges.ts';

/** Reads wanted runs in about the order in which they were named, the next ones in flight while one is looked at. */
export type RangeReader = {
  /** The bytes of the run with this index. `aheadBytes`: how much, from this run on, may be under way at once. */
  read(index: number, aheadBytes: number): Promise<Bytes>;
  /** Ends what is still under way and that nobody else reads. */
  readonly end: () => void;
};

/** `parallelMax`: GETs that are in flight at once. */
export type RangesWanted = { readonly wanted: readonly ByteRange[]; readonly gapBytesMax: number; readonly parallelMax: number };

export function createRangeReader(
  ranges: ObjectRanges,
  { wanted, gapBytesMax, parallelMax }: RangesWanted,
  signal: AbortSignal,
): RangeReader {
  const plan = planRanges(wanted, gapBytesMax);
  const started = new Map<number, Promise<Bytes>>();
  const scope = openScope(signal);

  function start(at: number, range: ByteRange): Promise<Bytes> {
    const known = started.get(at);
    if (known !== undefined) return known;
    const bytes = ranges.get(range, scope.signal);
    // Whoever comes to read it gets the failure; fetched ahead and never read, it is nobody's.
    bytes.catch(() => undefined);
    started.set(at, bytes);
    return bytes;
  }

  return {
    async read(index, aheadBytes) {
      const want = wanted[index];
      const first = plan.rangeOf[index];
      if (want === undefined || first === undefined) throw new RangeError(`no run ${index} is wanted`);
      let bytes = 0;
      for (let at = first; at < Math.min(first + parallelMax, plan.ranges.length); at += 1) {
        const range = plan.ranges[at];
        if (range === undefined || (at > first && bytes >= aheadBytes)) break;
        void start(at, range);
        bytes += range.length;
      }
      const range = plan.ranges[first] as ByteRange;
      const got = await start(first, range);
      const from = want.start - range.start;
      return got.subarray(from, from + want.length);
    },
    end: scope.end,
  };
}

import { READ_RANGES_PARALLEL_MAX } from '../model/limits.ts';
import type { ObjectRanges } from './object-ranges.ts';
import type { BatchSlice } from './page.ts';
import { createRangeReader } from './range-reader.ts';
import type { RunSource } from './read-batches.ts';
import { type FileDeps, takeFiles } from './take-files.ts';
import { type TakeDeps, takeRun } from './take-run.ts';

/** Runs with all their bytes, of which every batch is verified, whichever way they came. */
export function createPayloadSource(deps: TakeDeps & FileDeps & { readonly ranges: ObjectRanges }): RunSource<BatchSlice> {
  const { ranges } = deps;
  return {
    open(runs, gapBytesMax, signal) {
      const wanted = runs.map((run) => run.range);
      const reader = createRangeReader(ranges, { wanted, gapBytesMax, parallelMax: READ_RANGES_PARALLEL_MAX }, signal);
      return {
        async take(index, into) {
          const run = runs[index];
          if (run === undefined) throw new RangeError(`no run ${index} is wanted`);
          const bytes = await reader.read(index, into.page.room.bytes);
          return takeRun(deps, run, { ...into, bytes });
        },
        end: reader.end,
      };
    },
    takeFiles: (wanted, into, signal) => takeFiles(deps, wanted, into, signal),
    forget(key) {
      ranges.forget(key);
      deps.files.forget(key);
    },
  };
}

import { KelpError } from '../model/errors.ts';
import { READ_GAP_BYTES_MAX } from '../model/limits.ts';
import { BATCH_HEADERS_PARALLEL_MAX } from '../model/upload-limits.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { damaged } from './damage.ts';
import { createKnownHeaders } from './known-headers.ts';
import { createObjectRanges } from './object-ranges.ts';
import type { BatchPlace } from './page.ts';
import { createRangeReader } from './range-reader.ts';
import type { RunSource, TakeInto } from './read-batches.ts';
import { firstWindowBytes, type RunHeader, walkHeaders } from './run-headers.ts';
import { takePlaces } from './take-places.ts';
import type { WantedRun } from './wanted-runs.ts';

/** Runs by the headers of their batches. Those are remembered, and the bytes that they came with are not. */
export function createHeaderSource(deps: {
  readonly store: Pick<ObjectStore, 'getRange'>;
  readonly telemetry: Telemetry;
}): RunSource<BatchPlace> {
  const known = createKnownHeaders();
  const ranges = createObjectRanges({ ...deps, bytesMax: 0 });

  return {
    open(runs, _gapBytesMax, signal) {
      const before = runs.map((run) => known.get(run.range));
      const unknown = runs.filter((_, index) => before[index] === undefined);
      const wanted = unknown.map(({ run, range }) => ({ ...range, length: firstWindowBytes(run) }));
      const bounds = { wanted, gapBytesMax: READ_GAP_BYTES_MAX, parallelMax: BATCH_HEADERS_PARALLEL_MAX };
      const reader = createRangeReader(ranges, bounds, signal);

      async function headersOf(wantedRun: WantedRun): Promise<readonly RunHeader[]> {
        const { run, range } = wantedRun;
        const first = await reader.read(unknown.indexOf(wantedRun), Infinity);
        const headers = await walkHeaders(run, first, (start, length) => ranges.get({ key: range.key, start, length }, signal));
        known.add(range, headers);
        return headers;
      }

      return {
        async take(index, into) {
          const run = runs[index];
          if (run === undefined) throw new RangeError(`no run ${index} is wanted`);
          const headers = before[index] ?? (await orDamage(headersOf(run), run, into));
          return takePlaces(run, headers, into);
        },
        end: reader.end,
      };
    },
    // What was wrong is not remembered.
    forget: () => undefined,
  };
}

/** Counts and lengths that contradict the index leave no offset of the run certain. */
async function orDamage<T>(headers: Promise<T>, { segment, offset, run, range }: WantedRun, into: TakeInto<BatchPlace>): Promise<T> {
  try {
    return await headers;
  } catch (error) {
    if (!(error instanceof KelpError) || error.kind !== 'invalid' || error.code !== 'invalid-batch') throw error;
    const where = { topic: into.topic, segment, offset: into.part.next, nextOffset: offset + run.count, object: range.key };
    throw damaged(where, 'the header of a stored batch is damaged', error);
  }
}

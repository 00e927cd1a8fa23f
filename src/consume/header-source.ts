import { KelpError } from '../model/errors.ts';
import { READ_GAP_BYTES_MAX } from '../model/limits.ts';
import { BATCH_HEADERS_PARALLEL_MAX } from '../model/upload-limits.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { openScope } from '../state/abortable.ts';
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
      const scope = openScope(signal);
      const before = runs.map((run) => known.get(run.range));
      const unknown = runs.filter((_, index) => before[index] === undefined);
      const wanted = unknown.map(({ run, range }) => ({ ...range, length: firstWindowBytes(run) }));
      const bounds = { wanted, gapBytesMax: READ_GAP_BYTES_MAX, parallelMax: 1 };
      const reader = createRangeReader(ranges, bounds, scope.signal);
      const started = new Map<WantedRun, Promise<readonly RunHeader[]>>();

      async function walk({ run, range }: WantedRun, place: number): Promise<readonly RunHeader[]> {
        const first = await reader.read(place, 0);
        const headers = await walkHeaders(run, first, (start, length) => ranges.get({ key: range.key, start, length }, scope.signal));
        known.add(range, headers);
        return headers;
      }

      /** One header leads to the next, so those of several runs are read side by side. `aheadBytes`: of runs, from this one on. */
      function headersOf(wantedRun: WantedRun, aheadBytes: number): Promise<readonly RunHeader[]> {
        const first = unknown.indexOf(wantedRun);
        let bytes = 0;
        for (const [delta, next] of unknown.slice(first, first + BATCH_HEADERS_PARALLEL_MAX).entries()) {
          if (delta > 0 && bytes >= aheadBytes) break;
          bytes += next.run.bytes;
          if (started.has(next)) continue;
          const headers = walk(next, first + delta);
          // Whoever comes to take the run gets the failure; walked ahead and never taken, it is nobody's.
          headers.catch(() => undefined);
          started.set(next, headers);
        }
        return started.get(wantedRun) ?? walk(wantedRun, first);
      }

      return {
        async take(index, into) {
          const run = runs[index];
          if (run === undefined) throw new RangeError(`no run ${index} is wanted`);
          const headers = before[index] ?? (await orDamage(headersOf(run, into.page.room.bytes), run, into));
          return takePlaces(run, headers, into);
        },
        end() {
          reader.end();
          scope.end();
        },
      };
    },
    takeFiles: () => Promise.reject(new RangeError('nobody is told where messages lie in files')),
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

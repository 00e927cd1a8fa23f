import { createBackground } from '../adapters/system/background.ts';
import { createLogTelemetry } from '../adapters/system/log-telemetry.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { wrapStore, wrapTable } from '../adapters/wrap/stores.ts';
import { watchedStore, watchedTable } from '../adapters/wrap/watched.ts';
import { KelpError } from '../model/errors.ts';
import { createHeads } from '../state/heads.ts';
import { sweepDeletions } from '../topics/sweep-deletions.ts';
import type { FunctionParts } from './assemble-function.ts';
import { createScheduleHandler, type ScheduledWork, type ScheduleHandler } from './schedule-handler.ts';

/** The clean-up that nobody waits for, for a schedule. It asks nobody, leads nobody, and any number of them may run at once. */
export function assembleSweep({ table, store, clock, write }: FunctionParts): ScheduleHandler {
  const telemetry = createLogTelemetry({ clock, write });
  const wrapping = { clock, telemetry, random: createSystemRandom() };
  const { watch, settled } = createBackground(wrapping);
  const watched = watchedTable(wrapTable(table, wrapping), watch);
  const deps = { ...wrapping, table: watched, heads: createHeads(watched), store: watchedStore(wrapStore(store, wrapping), watch) };
  const work: ScheduledWork = {
    done: 'swept',
    failed: 'sweeping failed',
    outOfTime: 'the stores do not answer',
    endMs: 0,
    async run(signal) {
      const swept = await sweepDeletions(deps, signal);
      // All that could be done is done; whoever counts failed invocations has to hear of the rest.
      if (swept.failed > 0) throw new KelpError('unavailable', 'sweep-incomplete', JSON.stringify(swept));
      return swept;
    },
  };
  return createScheduleHandler({ clock, telemetry, work, settled });
}

import { createBackground } from '../adapters/system/background.ts';
import { createCompression } from '../adapters/system/compression.ts';
import { createLogTelemetry } from '../adapters/system/log-telemetry.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { wrapStore, wrapTable } from '../adapters/wrap/stores.ts';
import { watchedStore, watchedTable } from '../adapters/wrap/watched.ts';
import { sweep } from '../broker/sweep.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { failedIn } from '../model/sweep-report.ts';
import { createHeads } from '../state/heads.ts';
import type { FunctionParts } from './assemble-function.ts';
import type { Lifetimes } from './lifetimes.ts';
import { createScheduleHandler, type ScheduledWork, type ScheduleHandler } from './schedule-handler.ts';

/**
 * The clean-up that nobody waits for, for a schedule; by hand, `{"dryRun": true}` only says what it would do. It asks nobody, leads
 * nobody, and any number of them may run at once.
 */
export function assembleSweep(
  { garbageAgeMs }: Pick<Lifetimes, 'garbageAgeMs'>,
  { table, store, clock, write }: FunctionParts,
): ScheduleHandler {
  const telemetry = createLogTelemetry({ clock, write });
  const wrapping = { clock, telemetry, random: createSystemRandom() };
  const { watch, settled } = createBackground(wrapping);
  const watched = watchedTable(wrapTable(table, wrapping), watch);
  const deps = {
    ...wrapping,
    garbageAgeMs,
    table: watched,
    heads: createHeads(watched),
    store: watchedStore(wrapStore(store, wrapping), watch),
    compression: createCompression({ codec: 'none' }),
  };
  const work: ScheduledWork = {
    done: 'swept',
    failed: 'sweeping failed',
    outOfTime: 'the stores do not answer',
    endMs: 0,
    async run(event, signal) {
      const report = await sweep(deps, { dryRun: isDryRun(event) }, signal);
      // All that could be done is done; whoever counts failed invocations has to hear of the rest.
      if (failedIn(report) > 0) throw new KelpError('unavailable', 'sweep-incomplete', JSON.stringify(report));
      return report;
    },
  };
  return createScheduleHandler({ clock, telemetry, work, settled });
}

/** A slip of the pen isn't taken for a real one. */
function isDryRun(event: unknown): boolean {
  if (typeof event !== 'object' || event === null || !('dryRun' in event)) return false;
  if (typeof event.dryRun !== 'boolean') throw invalid('invalid-dry-run', 'dryRun', 'true or false');
  return event.dryRun;
}

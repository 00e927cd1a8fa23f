import { createBackground } from '../adapters/system/background.ts';
import { createLogTelemetry } from '../adapters/system/log-telemetry.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { FILE_MS_MAX } from '../model/archive-limits.ts';
import { KelpError } from '../model/errors.ts';
import { withGrace } from '../state/with-grace.ts';
import { assembleArchiver } from './assemble-archiver.ts';
import type { FunctionParts } from './assemble-function.ts';
import type { Lifetimes } from './lifetimes.ts';
import { createScheduleHandler, type ScheduledWork, type ScheduleHandler } from './schedule-handler.ts';

/**
 * Writes old messages as files, for a schedule. It begins no file that may not end in time, and where it is stopped all the same the next
 * one goes on; any number of them may run at once.
 */
export function assembleArchive(lifetimes: Lifetimes, { table, store, clock, write }: FunctionParts): ScheduleHandler {
  const telemetry = createLogTelemetry({ clock, write });
  const wrapping = { clock, telemetry, random: createSystemRandom() };
  const { watch, settled } = createBackground(wrapping);
  const { archive } = assembleArchiver(lifetimes, { ...wrapping, table, store, watch });
  const work: ScheduledWork = {
    done: 'archived',
    failed: 'archiving failed',
    outOfTime: 'the stores do not answer',
    endMs: FILE_MS_MAX,
    async run(_event, until) {
      const run = await withGrace(clock, FILE_MS_MAX, (signal) => archive({ until }, signal), until);
      // All that could be archived is; whoever counts failed invocations has to hear of the rest.
      if (run.held + run.failed > 0) throw new KelpError('unavailable', 'archive-incomplete', JSON.stringify(run));
      return run;
    },
  };
  return createScheduleHandler({ clock, telemetry, work, settled });
}

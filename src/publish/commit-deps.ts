import type { Background } from '../ports/background.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { CommitIds } from '../protocol/commit-id.ts';
import type { Heads } from '../state/heads.ts';
import type { PressureNotes } from '../state/pressure-meter.ts';

/** What committing works with. Reads of `table` are retried by whoever made it; writes never are. */
export type CommitDeps = {
  readonly table: MetadataTable;
  readonly heads: Heads;
  readonly commitIds: CommitIds;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly background: Background;
  readonly pressure: PressureNotes;
};

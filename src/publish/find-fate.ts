import type { Head } from '../model/head.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Background } from '../ports/background.ts';
import { type Fate, fateFromHead, fateFromPage, type SentCommit } from '../protocol/fate.ts';
import type { CommitIds } from '../protocol/commit-id.ts';
import type { Heads } from '../state/heads.ts';
import { readPageAt } from '../state/pages.ts';
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

/** What became of a commit id, starting from a strong read of the head (a refusal's old item is one). */
export async function findFate(deps: Pick<CommitDeps, 'table'>, sent: SentCommit, head: Head, signal: AbortSignal): Promise<Fate> {
  let step = fateFromHead(sent, head);
  // Bounded: every step is a page further, towards the head's spill count.
  while (step.step === 'read-page') {
    const page = await readPageAt(deps.table, head, step.offset, signal);
    step = fateFromPage(step.walk, page);
  }
  return step.fate;
}

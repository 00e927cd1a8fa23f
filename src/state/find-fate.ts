import type { Head } from '../model/head.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { type Fate, fateFromArchive, fateFromHead, fateFromPage, type SentCommit } from '../protocol/fate.ts';
import { readArchive } from './archives.ts';
import { readPageAt } from './pages.ts';

/** What became of a commit id, starting from a strong read of the head (a refusal's old item is one). */
export async function findFate(deps: { readonly table: MetadataTable }, sent: SentCommit, head: Head, signal: AbortSignal): Promise<Fate> {
  let step = fateFromHead(sent, head);
  // Bounded: every step is a page further, towards the head's spill count.
  while (step.step !== 'done') {
    const { walk, offset } = step;
    step =
      step.step === 'read-page'
        ? fateFromPage(walk, offset, await readPageAt(deps.table, head, offset, signal))
        : fateFromArchive(walk, offset, await readArchive(deps, head, signal));
  }
  return step.fate;
}

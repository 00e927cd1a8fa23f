import type { Head } from '../model/head.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { type Fate, fateFromHead, fateFromPage, type SentCommit } from '../protocol/fate.ts';
import { readPageAt } from './pages.ts';

/** What became of a commit id, starting from a strong read of the head (a refusal's old item is one). */
export async function findFate(deps: { readonly table: MetadataTable }, sent: SentCommit, head: Head, signal: AbortSignal): Promise<Fate> {
  let step = fateFromHead(sent, head);
  // Bounded: every step is a page further, towards the head's spill count.
  while (step.step === 'read-page') {
    const page = await readPageAt(deps.table, head, step.offset, signal);
    step = fateFromPage(step.walk, page);
  }
  return step.fate;
}

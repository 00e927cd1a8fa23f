import type { Condition } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/** Whether it went: somebody may be faster, or it is another one by now. */
export async function deleteItem(
  deps: GarbageDeps,
  { dryRun }: TopicWork,
  { pk, sk, condition }: { readonly pk: string; readonly sk: string; readonly condition: Condition },
  signal: AbortSignal,
): Promise<boolean> {
  if (dryRun) return true;
  return (await askAgain(deps, () => deps.table.delete({ pk, sk }, condition, signal), signal)).applied;
}

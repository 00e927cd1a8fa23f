import type { SegmentId } from '../model/ids.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/** What goes wrong with a part of the work is left to the next sweep: the others have nothing to do with it. */
export async function guarded(
  { telemetry }: Pick<GarbageDeps, 'telemetry'>,
  { work: { topic, counts }, ...part }: { readonly work: TopicWork } & ({ readonly kind: string } | { readonly segment: SegmentId }),
  collect: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  try {
    await collect();
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    telemetry.log('warn', 'garbage is left for the next sweep', { topic: topic.id, ...part, error });
  }
}

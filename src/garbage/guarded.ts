import type { GarbageDeps, TopicWork } from './topic-work.ts';

/** What goes wrong with a part of the work is left to the next sweep: the others have nothing to do with it. */
export async function guarded(
  { telemetry }: Pick<GarbageDeps, 'telemetry'>,
  { topic, counts }: Pick<TopicWork, 'topic' | 'counts'>,
  what: Readonly<Record<string, string>>,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    telemetry.log('warn', 'garbage is left for the next sweep', { topic: topic.id, ...what, error });
  }
}

import type { TopicLoads } from '../../model/scaling.ts';
import { scalingOf, type Topic } from '../../model/topic.ts';
import { viewAt } from './load-windows.ts';
import type { TopicMemory } from './scaling-memory.ts';
import { isKnown, loadOf } from './segment-load.ts';

/** The loads of the topic's open segments, of those that are known well enough to decide by. */
export function loadsOf({ open, settings }: Topic, memory: TopicMemory | undefined, nowMs: number): TopicLoads {
  const segments = open.flatMap(({ segment }) => {
    const windows = memory?.windows.get(segment);
    const view = windows === undefined ? undefined : viewAt(windows, nowMs);
    const [rates] = view?.rates ?? [];
    return isKnown(view) && rates !== undefined ? [{ segment, ...rates, load: loadOf(rates, scalingOf(settings)) }] : [];
  });
  const isOpen = new Set(open.map(({ segment }) => segment));
  return { segments, hotKeys: (memory?.hotKeys ?? []).filter(({ segment }) => isOpen.has(segment)) };
}

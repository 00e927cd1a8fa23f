import { scalingKey } from '../format/item-key.ts';
import { decodeScaleHistory, encodeScaleHistory, type ScaleHistory } from '../format/scale-history-item.ts';
import { CHANGE_ATTEMPTS_MAX } from '../model/limits.ts';
import type { ScaleEvent } from '../model/scale-event.ts';
import { SCALE_EVENTS_MAX } from '../model/scaling-limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Clock } from '../ports/clock.ts';
import type { Condition, MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { isTransient } from '../state/ask-again.ts';
import { backoff } from '../state/retry.ts';

type NoteDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'count' | 'log'>;
};

/**
 * Adds what was published to the topic's history of splits and merges. Nothing is decided by it, so what can't be written is
 * lost, counted and logged; only the end of the caller is an error. An event whose children are in it already stays as it is.
 */
export async function noteScaling(
  deps: NoteDeps,
  topic: Pick<Topic, 'id'>,
  events: readonly ScaleEvent[],
  signal: AbortSignal,
): Promise<void> {
  try {
    if (await addEvents(deps, topic, events, signal)) return;
    lost(deps, topic, events, 'it is written by too many at a time');
  } catch (error) {
    signal.throwIfAborted();
    lost(deps, topic, events, error);
  }
}

/** The latest splits and merges of a topic, newest first; at most SCALE_EVENTS_MAX. */
export async function readScaling(
  deps: Pick<NoteDeps, 'table'>,
  topic: Pick<Topic, 'id'>,
  signal: AbortSignal,
): Promise<readonly ScaleEvent[]> {
  return (await readHistory(deps, topic, signal))?.events ?? [];
}

/** False: others wrote each time. After a lost answer, the events may be found there. */
async function addEvents(deps: NoteDeps, topic: Pick<Topic, 'id'>, events: readonly ScaleEvent[], signal: AbortSignal): Promise<boolean> {
  for (let attempt = 1; attempt <= CHANGE_ATTEMPTS_MAX; attempt += 1) {
    try {
      const read = await readHistory(deps, topic, signal);
      const next = withEvents(read, events);
      if (next === undefined || (await writeHistory(deps, topic, { read, next }, signal))) return true;
    } catch (error) {
      if (!isTransient(error) || signal.aborted) throw error;
    }
    await backoff(deps, attempt, signal);
  }
  return false;
}

/** Undefined: all of them are in it. A segment is made by one change, so its id tells whether the event is there. */
function withEvents(read: ScaleHistory | undefined, events: readonly ScaleEvent[]): ScaleHistory | undefined {
  const known = new Set((read?.events ?? []).flatMap((event) => event.children));
  const added = events.filter((event) => !event.children.some((child) => known.has(child)));
  if (added.length === 0) return undefined;
  return { version: (read?.version ?? 0) + 1, events: [...added, ...(read?.events ?? [])].slice(0, SCALE_EVENTS_MAX) };
}

async function readHistory(
  deps: Pick<NoteDeps, 'table'>,
  topic: Pick<Topic, 'id'>,
  signal: AbortSignal,
): Promise<ScaleHistory | undefined> {
  const item = await deps.table.get(scalingKey(topic.id), signal);
  return item === undefined ? undefined : decodeScaleHistory(item);
}

async function writeHistory(
  deps: NoteDeps,
  topic: Pick<Topic, 'id'>,
  { read, next }: { readonly read: ScaleHistory | undefined; readonly next: ScaleHistory },
  signal: AbortSignal,
): Promise<boolean> {
  const condition: Condition =
    read === undefined ? [{ op: 'missing', path: ['version'] }] : [{ op: '=', path: ['version'], value: read.version }];
  const result = await deps.table.put(scalingKey(topic.id), encodeScaleHistory(next), condition, signal);
  return result.applied;
}

function lost(deps: NoteDeps, topic: Pick<Topic, 'id'>, events: readonly ScaleEvent[], error: unknown): void {
  deps.telemetry.count('kelp.scaling.unnoted', events.length);
  deps.telemetry.log('warn', 'the history of scaling lacks what was done', { topic: topic.id, error: String(error) });
}

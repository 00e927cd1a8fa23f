import { stringField } from '../../format/item-fields.ts';
import { loadMemoryKey, loadMemoryNumber } from '../../format/item-key.ts';
import { decodeLoadMemory, encodeLoadMemory, LOAD_MEMORY_SEGMENTS_MAX, type LoadMemory } from '../../format/load-memory-item.ts';
import { KelpError } from '../../model/errors.ts';
import type { SegmentId, TopicId } from '../../model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Condition, Item, MetadataTable, Value } from '../../ports/metadata-table.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { queryPages } from '../../state/query-pages.ts';
import type { LoadWindows } from './load-windows.ts';
import type { ScalingMemory, SegmentOrigin, TopicMemory } from './scaling-memory.ts';

const ITEMS_MAX = Math.ceil(SEGMENTS_OPEN_MAX / LOAD_MEMORY_SEGMENTS_MAX);
/** How far the clocks of functions may be apart: what lies further ahead would be believed, and nothing newer, until it has come. */
const AHEAD_MS_MAX = 10_000;
/** How long an item stays once nobody writes it: its topic is deleted. */
const KEPT_MS = 86_400_000;

type MemoryDeps = {
  readonly table: MetadataTable;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly telemetry: Pick<Telemetry, 'count' | 'log'>;
};

/** The versions of a topic's items as they are in the table, by number; of a damaged one, what stands in its place. */
type Versions = ReadonlyMap<number, Value | undefined>;

/**
 * What is known of loads, in the table: where looks are taken by functions, none of which may remember anything. Its clock is
 * the wall clock. A write is refused where somebody else has written since the read, and then, as where it fails, it is counted
 * and logged: the next look finds what the other one knew. A topic of up to 128 segments has one item of 470 bytes a segment,
 * and costs a query and as many write units a look; 1,024 segments cost 470.
 */
export function createStoredMemory(deps: MemoryDeps): ScalingMemory {
  const seen = new Map<TopicId, Versions>();
  return {
    nowMs: () => deps.clock.nowMs(),
    async read(topic, signal) {
      seen.delete(topic);
      const items = await readItems(deps, topic, signal);
      seen.set(topic, new Map(items.map(({ n, item }) => [n, item['version']])));
      const known = items.flatMap(({ n, item }) => understood(deps, { topic, n, item }) ?? []);
      return known.length === 0 ? undefined : joined(known, deps.clock.nowMs());
    },
    async write(topic, memory, signal) {
      const versions = seen.get(topic) ?? new Map<number, Value>();
      seen.delete(topic);
      try {
        const written = await writeItems(deps, { topic, memory, versions }, signal);
        if (written === undefined) unwritten(deps, topic, 'another one has written since');
        else seen.set(topic, written);
      } catch (error) {
        signal.throwIfAborted();
        unwritten(deps, topic, error);
      }
    },
    keep(topics) {
      for (const topic of seen.keys()) if (!topics.has(topic)) seen.delete(topic);
    },
  };
}

type Found = { readonly n: number; readonly item: Item };

async function readItems({ table }: MemoryDeps, topic: TopicId, signal: AbortSignal): Promise<readonly Found[]> {
  const found: Found[] = [];
  const { pk, sk: from } = loadMemoryKey(topic, 0);
  const { sk: to } = loadMemoryKey(topic, ITEMS_MAX - 1);
  for await (const items of queryPages(table, { pk, from, to, limit: ITEMS_MAX }, signal)) {
    found.push(...items.map((item) => ({ n: loadMemoryNumber(stringField(item, 'sk')), item })));
  }
  return found;
}

/** Undefined: it can't be read, which is no reason not to look at the topic. */
function understood({ telemetry }: MemoryDeps, { topic, n, item }: Found & { readonly topic: TopicId }): LoadMemory | undefined {
  try {
    return decodeLoadMemory(item);
  } catch (error) {
    if (!(error instanceof KelpError) || error.kind !== 'corrupt') throw error;
    telemetry.count('kelp.rebalance.memory.unread', 1);
    telemetry.log('warn', 'a part of what was known of the loads can not be read', { topic, item: n, error: error.message });
    return undefined;
  }
}

/** A segment stands in two items where somebody was stopped between them: the later sample counts. */
function joined(parts: readonly LoadMemory[], nowMs: number): TopicMemory {
  const isPast = (atMs: number): boolean => atMs < nowMs + AHEAD_MS_MAX;
  const windows = new Map<SegmentId, LoadWindows>();
  const origins = new Map<SegmentId, SegmentOrigin>();
  for (const { segment, windows: one, origin } of parts.flatMap(({ segments }) => segments)) {
    const other = windows.get(segment);
    const isLatest = one !== undefined && (other === undefined || one.sample.atMs > other.sample.atMs);
    if (isLatest && isPast(one.sample.atMs)) windows.set(segment, one);
    if (origin !== undefined) origins.set(segment, origin);
  }
  const throttling = parts.find((part) => part.throttling !== undefined)?.throttling;
  const state = throttling === undefined || !isPast(throttling.atMs) ? {} : { throttling };
  return { windows, origins, state, hotKeys: parts.flatMap(({ hotKeys }) => hotKeys) };
}

type Writing = { readonly topic: TopicId; readonly memory: TopicMemory; readonly versions: Versions };

/** Item 0 is written by everybody, and first: who is refused there writes none. Undefined: refused. */
async function writeItems(deps: MemoryDeps, { topic, memory, versions }: Writing, signal: AbortSignal): Promise<Versions | undefined> {
  const parts = partsOf(memory);
  const expiresMs = deps.clock.nowMs() + KEPT_MS;
  const written = new Map<number, Value>();
  for (const [n, part] of parts.entries()) {
    const before = versions.get(n);
    const version = Number.isSafeInteger(before) ? (before as number) + 1 : 1;
    const item = encodeLoadMemory({ ...part, version }, expiresMs);
    const { applied } = await deps.table.put(loadMemoryKey(topic, n), item, isAsRead(versions, n), signal);
    if (!applied) return undefined;
    written.set(n, version);
  }
  for (const n of versions.keys()) {
    if (n >= parts.length) await deps.table.delete(loadMemoryKey(topic, n), isAsRead(versions, n), signal);
  }
  return written;
}

function isAsRead(versions: Versions, n: number): Condition {
  const version = versions.get(n);
  if (version !== undefined) return [{ op: '=', path: ['version'], value: version }];
  return [{ op: 'missing', path: ['version'] }];
}

/** At least one, with what is the topic's own. */
function partsOf({ windows, origins, state, hotKeys }: TopicMemory): Omit<LoadMemory, 'version'>[] {
  const segments = [...new Set([...windows.keys(), ...origins.keys()])].map((segment) => {
    const known = windows.get(segment);
    const origin = origins.get(segment);
    return { segment, ...(known === undefined ? {} : { windows: known }), ...(origin === undefined ? {} : { origin }) };
  });
  const count = Math.max(1, Math.ceil(segments.length / LOAD_MEMORY_SEGMENTS_MAX));
  return Array.from({ length: count }, (_, n) => ({
    segments: segments.slice(n * LOAD_MEMORY_SEGMENTS_MAX, (n + 1) * LOAD_MEMORY_SEGMENTS_MAX),
    hotKeys: n === 0 ? hotKeys : [],
    ...(n === 0 && state.throttling !== undefined ? { throttling: state.throttling } : {}),
  }));
}

function unwritten({ telemetry }: MemoryDeps, topic: TopicId, reason: unknown): void {
  telemetry.count('kelp.rebalance.memory.unwritten', 1);
  telemetry.log('warn', 'what is known of the loads was not written', { topic, reason: String(reason) });
}

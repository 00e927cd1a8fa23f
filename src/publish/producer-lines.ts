import { lineKey } from '../format/item-key.ts';
import { decodeLine } from '../format/line.ts';
import type { Head, Line, LineBatch } from '../model/head.ts';
import { DUPLICATE_PAGES_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { batchOfSequence, chooseVictims, evictedLine } from '../protocol/producer-line.ts';
import type { Victim } from '../protocol/commit.ts';
import type { LineAsRead } from '../protocol/variant.ts';
import { readPageAt } from '../state/pages.ts';

/** P2: lines that are not in this read of the head are read from their own items after it. */
export async function readLines(
  table: MetadataTable,
  head: Head,
  producers: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, LineAsRead>> {
  const read = async (producer: string): Promise<[string, LineAsRead]> => {
    const line = head.lines.get(producer);
    if (line !== undefined) return [producer, { line, inHead: true }];
    const item = await table.get(lineKey(head.topic, head.segment, producer), signal);
    return [producer, { line: item === undefined ? undefined : decodeLine(item), inHead: false }];
  };
  return new Map(await Promise.all([...producers].map(read)));
}

/** P3: makes room in the head for these producers: the victims' states are in their own items when this resolves. */
export async function evictLines(
  table: MetadataTable,
  head: Head,
  producers: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly Victim[]> {
  const victims = chooseVictims(head, producers);
  const put = async ({ producer, line }: Victim): Promise<void> => {
    const { item, condition } = evictedLine(line);
    await table.put(lineKey(head.topic, head.segment, producer), item, condition, signal);
  };
  await Promise.all(victims.map(put));
  return victims;
}

/** First offsets of a repeated batch's messages, one for each; null where the line has forgotten them. */
export async function originalOffsets(
  table: MetadataTable,
  head: Head,
  repeat: { readonly line: Line | undefined; readonly sequence: number; readonly count: number },
  signal: AbortSignal,
): Promise<readonly (number | null)[]> {
  const { line, sequence, count } = repeat;
  const places = new Map<LineBatch, number | null>();
  const offsets: (number | null)[] = [];
  for (let i = 0; i < count; i += 1) {
    const batch = line === undefined ? undefined : batchOfSequence(line, sequence + i);
    if (batch === undefined) offsets.push(null);
    else {
      if (!places.has(batch)) places.set(batch, await offsetOfBatch(table, head, batch, signal));
      const first = places.get(batch) ?? null;
      offsets.push(first === null ? null : first + (sequence + i - batch.sequence));
    }
  }
  return offsets;
}

async function offsetOfBatch(table: MetadataTable, head: Head, batch: LineBatch, signal: AbortSignal): Promise<number | null> {
  const inHead = head.entries.find((entry) => entry.cid === batch.cid);
  if (inHead !== undefined) return inHead.offset + batch.delta;
  let below = head.spilled;
  for (let pages = 0; pages < DUPLICATE_PAGES_MAX && below > 0; pages += 1) {
    const page = await readPageAt(table, head, below - 1, signal);
    if (page === undefined) return null;
    const entry = page.entries.find((candidate) => candidate.cid === batch.cid);
    if (entry !== undefined) return entry.offset + batch.delta;
    below = page.first;
  }
  return null;
}

import { findEntries } from '../../../src/consume/find-entries.ts';
import { freshHead } from '../../../src/consume/read-head.ts';
import { entryCount } from '../../../src/model/head.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { Process, ProcessState } from '../engine/process.ts';
import { NEVER_ABORTED, SEGMENT, topicItem, WHOLE } from './broker.ts';
import { readDeps } from './reading.ts';

/** Reads a segment from its beginning by the product's own walk of head and pages, keeping what pages it has seen. */
export function reader(name: string, options: { readonly rounds: number; readonly messagesMax: number }): Process {
  return { name, start: {}, phases: [(table) => readSegment(table, options)] };
}

async function readSegment(
  table: MetadataTable,
  options: { readonly rounds: number; readonly messagesMax: number },
): Promise<ProcessState> {
  const deps = readDeps(table);
  const topic = topicItem([WHOLE]);
  const room = { messages: options.messagesMax, bytes: 1_000, batches: Infinity };
  const faults: string[] = [];
  let next = 0;
  for (let round = 0; round < options.rounds; round += 1) {
    const head = await freshHead(deps, topic, SEGMENT, NEVER_ABORTED);
    if (next > head.tail) faults.push(`tail-back: read to ${next}, the tail is ${head.tail}`);
    if (next >= head.tail) continue;
    const { entries } = await findEntries(deps, topic, { head, from: next, room }, NEVER_ABORTED);
    for (const entry of entries) {
      // An entry may hold messages that were read before; none may be passed over.
      if (entry.offset > next) faults.push(`skip: read ${entry.offset} where ${next} comes next`);
      next = entry.offset + entryCount(entry);
    }
  }
  return { next, faults };
}

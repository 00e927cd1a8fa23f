import type { CursorState } from '../../../src/consume/cursor.ts';
import { BEGINNING } from '../../../src/consume/lineage.ts';
import { openSegments, positionsAtTail } from '../../../src/consume/open-segments.ts';
import { readRound } from '../../../src/consume/read-round.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { Process, ProcessState } from '../engine/process.ts';
import { NEVER_ABORTED, topicItem, WHOLE } from './broker.ts';
import { readDeps } from './reading.ts';

export type TopicReader = {
  readonly name: string;
  readonly pages: number;
  /** From the first message, or from what comes after the call. */
  readonly from: 'earliest' | 'latest';
  /** Partition where it begins to read: readers differ in which of several segments comes first. */
  readonly turn: number;
};

/**
 * Reads a whole topic by its cursor, a message a page, each page on a broker that knows nothing but the cursor. `read`:
 * where each message was, in order of reading.
 */
export function topicReader(options: TopicReader, mayBegin?: Process['mayBegin']): Process {
  const page = (table: MetadataTable, state: ProcessState): Promise<ProcessState> => readPage(table, state, options);
  return {
    name: options.name,
    start: { read: [] },
    phases: Array.from({ length: options.pages }, () => page),
    ...(mayBegin === undefined ? {} : { mayBegin }),
  };
}

async function readPage(table: MetadataTable, state: ProcessState, options: TopicReader): Promise<ProcessState> {
  const deps = readDeps(table);
  const topic = topicItem([WHOLE]);
  const first = async (): Promise<CursorState> => {
    const positions = options.from === 'earliest' ? BEGINNING : await positionsAtTail(deps, topic, NEVER_ABORTED);
    return { positions, readTurn: options.turn, probeTurn: options.turn };
  };
  const cursor = (state['cursor'] as CursorState | undefined) ?? (await first());
  const positions = await openSegments(deps, topic, { positions: cursor.positions }, NEVER_ABORTED);
  const wanted = { state: { ...cursor, positions }, room: { messages: 1, bytes: 1_000, batches: Infinity }, whole: false, probe: true };
  const round = await readRound(deps, topic, wanted, NEVER_ABORTED);
  const read = round.slices.map((slice) => `${slice.segment}@${slice.from}`);
  return { read: [...(state['read'] as readonly string[]), ...read], cursor: round.state };
}

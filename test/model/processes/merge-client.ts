import { headKey } from '../../../src/format/item-key.ts';
import type { SegmentId } from '../../../src/model/ids.ts';
import type { Item, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { openUpdate } from '../../../src/protocol/segment-life.ts';
import { askAgain, isTransient } from '../../../src/state/ask-again.ts';
import type { Phase, Process, ProcessState, Result } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, TOPIC } from './broker.ts';
import { didNotLand, isUndecided, note, sendBatch } from './line-client.ts';

/** Of a producer that writes to two segments: it has a line in each, which counts from 0. */
export type LineBatch = { readonly message: string; readonly segment: SegmentId; readonly sequence: number };

export type MergeClient = {
  readonly name: string;
  readonly child: SegmentId;
  readonly known: readonly Item[];
  /** In the order in which they go to the child. */
  readonly batches: readonly LineBatch[];
  /** P1 taken away: to the child, each batch keeps the number that it had in its line. */
  readonly inherits: boolean;
};

/**
 * A producer's client whose two segments are merged under it. It sends all batches at once; asks again for what it doesn't know;
 * and once both segments are sealed, sends all that did not land, of both lines, on one new line from 0.
 */
export function mergeClient(client: MergeClient): Process {
  const first: Phase = async (table, state) =>
    note(state, await Promise.all(client.batches.map((batch) => send(table, client, { batch, upload: 'a' }))));
  const again: Phase = async (table, state) => {
    let known = state;
    for (const batch of client.batches) {
      // Nothing newer of a line goes before what is not known.
      const waits = client.batches.some((other) => isEarlier(other, batch) && isUndecided(known, other.message));
      if (waits || !isUndecided(known, batch.message)) continue;
      known = note(known, [await send(table, client, { batch, upload: 'b' })]);
    }
    return known;
  };
  return { name: client.name, start: {}, phases: [first, again, (table, state) => move(table, client, state)] };
}

const isEarlier = (one: LineBatch, other: LineBatch): boolean => one.segment === other.segment && one.sequence < other.sequence;

async function move(table: MetadataTable, client: MergeClient, state: ProcessState): Promise<ProcessState> {
  if (client.batches.some(({ message }) => isUndecided(state, message))) return state;
  let known = state;
  let next = 0;
  for (const batch of client.batches) {
    if (!didNotLand(known, batch.message)) continue;
    const moved = { ...batch, segment: client.child, sequence: client.inherits ? batch.sequence : next };
    const result = await send(table, client, { batch: moved, upload: 'c' });
    known = note(known, [result]);
    if (result.result === 'refused' || result.result === 'unknown') return known;
    next += 1;
  }
  return known;
}

function send(
  table: MetadataTable,
  { name, known, child }: MergeClient,
  { batch, upload }: { readonly batch: LineBatch; readonly upload: string },
): Promise<Result> {
  const { message, segment } = batch;
  const sent = { ...batch, instance: upload + message, nowMs: 5, object: `o${upload}${message}` };
  return sendBatch(table, { name, known: segment === child ? [] : known.filter((head) => head['segment'] === segment) }, sent);
}

type Lines = Readonly<Record<string, { readonly n: number }>>;

/** P1 taken away: the child goes on with a number that is made of those of its parents' lines. */
export function inheritLine(
  sealer: Process,
  { parents, child, numberOf }: { parents: readonly SegmentId[]; child: SegmentId; numberOf: (...nexts: number[]) => number },
): Process {
  const open: Phase = async (table, state) => {
    if (state['ended'] === true) return state;
    const deps = brokerDeps(table, { instance: 's', nowMs: 0 });
    try {
      const heads = await Promise.all(parents.map((parent) => table.get(headKey(TOPIC, parent), NEVER_ABORTED)));
      const n = numberOf(...heads.map((head) => (head?.['p'] as Lines | undefined)?.['p']?.n ?? 0));
      const { condition, changes } = openUpdate(0);
      const update = { condition, changes: [...changes, { op: 'set' as const, path: ['p', 'p'], value: { e: 0, n, b: [] } }] };
      await askAgain(deps, () => table.update(headKey(TOPIC, child), update, NEVER_ABORTED), NEVER_ABORTED);
      return state;
    } catch (error) {
      if (!isTransient(error)) throw error;
      return { ended: true };
    }
  };
  return { ...sealer, phases: [...sealer.phases.slice(0, -1), open] };
}

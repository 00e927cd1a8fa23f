import type { SegmentId } from '../../../src/model/ids.ts';
import type { Item, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { commitBatch } from '../../../src/publish/commit-batch.ts';
import type { Phase, Process, ProcessState, Result } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, SEGMENT } from './broker.ts';
import { commitRequest, outcomeOf, type Publication, resultsOf } from './publisher.ts';

export type LineClient = {
  readonly name: string;
  readonly child: SegmentId;
  readonly known: readonly Item[];
  /** P1 taken away: each batch goes to the child by itself, as if it were the only one. */
  readonly eachAlone: boolean;
};

const BATCHES = [0, 1];

/**
 * A producer's client. It sends two batches at once, to two brokers; asks again, in order, for what it doesn't know; and
 * once its segment is sealed, sends all that did not land to the successor, in order, on a new line from 0.
 */
export function lineClient(client: LineClient): Process {
  const first: Phase = async (table, state) => note(state, await Promise.all(BATCHES.map((n) => send(table, client, { n, upload: 'a' }))));
  const again =
    (upload: string): Phase =>
    async (table, state) => {
      let known = state;
      for (const n of BATCHES) {
        if (!isOpen(known, n)) continue;
        known = note(known, [await send(table, client, { n, upload })]);
        // Nothing newer goes before it: the client waits until it knows.
        if (isOpen(known, n)) break;
      }
      return known;
    };
  const move: Phase = async (table, state) => (client.eachAlone ? moveEach(table, client, state) : moveInOrder(table, client, state));
  return { name: client.name, start: {}, phases: [first, again('b'), again('c'), move] };
}

const resultOf = (state: ProcessState, n: number): Result | undefined => wordOn(state, `p${n}`);
const isOpen = (state: ProcessState, n: number): boolean => isUndecided(state, `p${n}`);

const wordOn = (state: ProcessState, message: string): Result | undefined =>
  (state.results ?? []).find((result) => result.message === message);

/** Whether the client has to ask again in the segment where it sent the batch. */
export function isUndecided(state: ProcessState, message: string): boolean {
  const result = wordOn(state, message);
  return result === undefined || result.result === 'unknown' || (result.result === 'refused' && result.code !== 'sealed');
}

/** Whether its segment ended without it. */
export const didNotLand = (state: ProcessState, message: string): boolean => wordOn(state, message)?.result === 'refused';

/** The newest word on each batch. */
export function note(state: ProcessState, results: readonly Result[]): ProcessState {
  const newest = new Map([...(state.results ?? []), ...results].map((result) => [result.message, result]));
  return { ...state, results: [...newest.values()].toSorted((a, b) => (a.message < b.message ? -1 : 1)) };
}

type Sending = { readonly n: number; readonly upload: string; readonly segment?: SegmentId; readonly sequence?: number };

function send(table: MetadataTable, client: LineClient, { n, upload, segment = SEGMENT, sequence = n }: Sending): Promise<Result> {
  const batch = { message: `p${n}`, instance: upload + String(n), nowMs: 5 - n, object: `o${upload}${n}`, segment, sequence };
  return sendBatch(table, { name: client.name, known: segment === SEGMENT ? client.known : [] }, batch);
}

export type SentBatch = Pick<Publication, 'instance' | 'nowMs' | 'object'> & {
  readonly message: string;
  readonly segment: SegmentId;
  readonly sequence: number;
};

/** One batch of a producer, by a broker that has seen these heads. */
export async function sendBatch(
  table: MetadataTable,
  { name, known }: { readonly name: string; readonly known: readonly Item[] },
  { message, sequence, ...sent }: SentBatch,
): Promise<Result> {
  const publication: Publication = { ...sent, name, members: [{ message, producer: { producer: 'p', epoch: 0, sequence } }] };
  const deps = brokerDeps(table, publication, known);
  const outcome = await outcomeOf(commitBatch(deps, commitRequest(publication), NEVER_ABORTED));
  return resultsOf(publication, outcome)[0] as Result;
}

/** The frozen head said of each batch whether it landed; all others go, in order, before anything newer. */
async function moveInOrder(table: MetadataTable, client: LineClient, state: ProcessState): Promise<ProcessState> {
  if (BATCHES.some((n) => isOpen(state, n))) return state;
  let known = state;
  let sequence = 0;
  for (const n of BATCHES) {
    if (resultOf(known, n)?.result !== 'refused') continue;
    const result = await send(table, client, { n, upload: 'd', segment: client.child, sequence });
    known = note(known, [result]);
    if (result.result === 'refused' || result.result === 'unknown') return known;
    sequence += 1;
  }
  return known;
}

async function moveEach(table: MetadataTable, client: LineClient, state: ProcessState): Promise<ProcessState> {
  const sealed = BATCHES.filter((n) => resultOf(state, n)?.code === 'sealed');
  return note(state, await Promise.all(sealed.map((n) => send(table, client, { n, upload: 'd', segment: client.child, sequence: 0 }))));
}

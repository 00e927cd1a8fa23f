import { partitionOf } from '../../src/model/partition.ts';
import type { Message } from './ledger.ts';
import type { Successor } from './verdict.ts';
import { createWriter, type Writer, type WriterOptions } from './writer.ts';

type Line = { readonly segment: string; readonly window: number };
/** What a sealed segment lacks, in order, and who goes on. */
type Left = { readonly requests: readonly (readonly Message[])[]; readonly successors: readonly Successor[] };

/**
 * A producer with `window` requests in flight on one segment, whose keys the options have. Each request is sent again under the
 * same sequence until it is acknowledged. Where the segment is sealed, what it lacks goes first on a new line in its successor.
 */
export async function writeAsProducer(options: WriterOptions, line: Line): Promise<void> {
  const writer = createWriter(options);
  let at = line;
  for (let left: Left | undefined = { requests: [], successors: [] }; left !== undefined;) {
    left = await writeLine({ options, writer }, at, left.requests);
    if (left !== undefined) at = { ...at, segment: successorOf(left.successors, options.keys) };
  }
}

/** Undefined once it was told to stop and all is acknowledged. */
async function writeLine(
  { options, writer }: { options: WriterOptions; writer: Writer },
  { segment, window }: Line,
  requests: readonly (readonly Message[])[],
): Promise<Left | undefined> {
  const { name, ledger, stop } = options;
  const moving = [...requests];
  const refused = new Map<number, readonly Message[]>();
  const inFlight = new Set<Promise<void>>();
  let successors: readonly Successor[] | undefined;
  let next = 0;

  async function send(messages: readonly Message[], sequence: number): Promise<void> {
    const headers = { 'kelp-segment': segment, 'kelp-producer-id': name, 'kelp-producer-epoch': '0' };
    const sealed = await writer.untilAcked(messages, { ...headers, 'kelp-producer-sequence': String(sequence) });
    if (sealed === undefined) return;
    refused.set(sequence, messages);
    successors = sealed;
  }

  while (successors === undefined && (moving.length > 0 || !stop.aborted)) {
    const moved = moving.shift();
    const messages = moved ?? writer.make();
    messages.forEach((message, i) => {
      const place = { name: `${name} in ${segment}`, sequence: next + i };
      if (moved === undefined) ledger.sent(message, place);
      else ledger.moved(message, place);
    });
    const tracked = send(messages, next).finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
    next += messages.length;
    if (inFlight.size >= window) await Promise.race(inFlight);
  }
  await Promise.all(inFlight);
  if (successors === undefined) return undefined;
  const inOrder = [...refused].toSorted(([a], [b]) => a - b).map(([, messages]) => messages);
  return { requests: [...inOrder, ...moving], successors };
}

function successorOf(successors: readonly Successor[], keys: readonly string[]): string {
  const partitions = keys.map((key) => partitionOf(new TextEncoder().encode(key)));
  const found = successors.find(({ lo, hi }) => partitions.every((partition) => partition >= lo && partition <= hi));
  if (found === undefined) throw new Error(`no successor has all of the producer's keys: ${JSON.stringify(successors)}`);
  return found.segment;
}

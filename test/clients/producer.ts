import { partitionOf } from '../../src/model/partition.ts';
import type { Message } from './ledger.ts';
import type { Successor } from './verdict.ts';
import { createWriter, type WriterOptions } from './writer.ts';

/** What a producer has to send to one segment, in order. It ends with the segment. */
type Line = {
  readonly segment: string;
  readonly waiting: (readonly Message[])[];
  /** What its segment refused because it is sealed, by sequence. */
  readonly refused: Map<number, readonly Message[]>;
  next: number;
  inFlight: number;
  successors?: readonly Successor[];
};

export type ProducerOptions = {
  /** Where its keys are when it begins. */
  readonly range: Successor;
  /** Requests under way. */
  readonly window: number;
};

/**
 * A producer of which each request is sent again under the same sequence until it is acknowledged. Where a segment is sealed, what
 * it lacks goes first, each key to the segment that has it from then on: after a split the producer has a line in both parts; after
 * a merge, one in place of two.
 */
export async function writeAsProducer(options: WriterOptions, { range, window }: ProducerOptions): Promise<void> {
  const writer = createWriter(options);
  const { name, ledger, stop } = options;
  const lines = new Map<string, Line>();
  /** Of segments whose lines have ended. One of a merge may be met again by the second of its parents: its line is not begun anew. */
  const ended = new Map<string, readonly Successor[]>();
  const sent = new Set<Message>();
  const inFlight = new Set<Promise<void>>();
  let ranges = [range];

  /** A request for each segment that has some of the messages. */
  function put(messages: readonly Message[]): void {
    for (const [segment, part] of Map.groupBy(messages, ({ key }) => segmentOf(ranges, key))) {
      const line: Line = lines.get(segment) ?? { segment, waiting: [], refused: new Map(), next: 0, inFlight: 0 };
      lines.set(segment, line);
      line.waiting.push(part);
      begin(line);
    }
  }

  function begin(line: Line): void {
    while (line.successors === undefined && line.waiting.length > 0) {
      const tracked = send(line, line.waiting.shift() ?? []).finally(() => inFlight.delete(tracked));
      inFlight.add(tracked);
    }
  }

  async function send(line: Line, messages: readonly Message[]): Promise<void> {
    const sequence = line.next;
    messages.forEach((message, i) => {
      const place = { name: `${name} in ${line.segment}`, sequence: sequence + i };
      if (sent.has(message)) ledger.moved(message, place);
      else ledger.sent(message, place);
      sent.add(message);
    });
    line.next += messages.length;
    line.inFlight += 1;
    const headers = { 'kelp-segment': line.segment, 'kelp-producer-id': name, 'kelp-producer-epoch': '0' };
    const successors = await writer.untilAcked(messages, { ...headers, 'kelp-producer-sequence': String(sequence) });
    line.inFlight -= 1;
    if (successors !== undefined) {
      line.refused.set(sequence, messages);
      line.successors = successors;
    }
    if (line.inFlight === 0 && line.successors !== undefined) follow(line, line.successors);
  }

  /** All of the line's requests are answered. */
  function follow(line: Line, successors: readonly Successor[]): void {
    lines.delete(line.segment);
    ended.set(line.segment, successors);
    ranges = ranges.flatMap((old) => partsOf(old, ended));
    const refused = [...line.refused].toSorted(([a], [b]) => a - b).map(([, messages]) => messages);
    for (const messages of [...refused, ...line.waiting]) put(messages);
  }

  const pending = (): number => [...lines.values()].reduce((sum, line) => sum + line.inFlight + line.waiting.length, 0);
  while (!stop.aborted || pending() > 0) {
    if (!stop.aborted && pending() < window) put(writer.make());
    else await Promise.race(inFlight);
  }
}

function segmentOf(ranges: readonly Successor[], key: string): string {
  const partition = partitionOf(new TextEncoder().encode(key));
  const found = ranges.find(({ lo, hi }) => partition >= lo && partition <= hi);
  if (found === undefined) throw new Error(`nobody has the partition of ${key}: ${JSON.stringify(ranges)}`);
  return found.segment;
}

/** Who has which part of the range by now; a merged segment is wider than that. */
function partsOf(range: Successor, ended: ReadonlyMap<string, readonly Successor[]>): Successor[] {
  const successors = ended.get(range.segment);
  if (successors === undefined) return [range];
  const parts = successors.map(({ segment, lo, hi }) => ({ segment, lo: Math.max(lo, range.lo), hi: Math.min(hi, range.hi) }));
  return parts.filter(({ lo, hi }) => lo <= hi).flatMap((part) => partsOf(part, ended));
}

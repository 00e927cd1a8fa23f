import { createHash } from 'node:crypto';
import type { Address, Outcome, Publish, Seen } from '../checkers/history.ts';

/** A message on its way: what it is named, and the exact JSON of its value, which tells all of this again. */
export type Message = { readonly id: string; readonly key: string; readonly digest: string; readonly value: string };

/** Writes down what writers send and are told; the counter of its events orders them all. */
export type Ledger = {
  /** Before the first sending. */
  sent(message: Message, line?: Publish['line']): void;
  /** It surely isn't on its line and goes to another one. */
  moved(message: Message, line: NonNullable<Publish['line']>): void;
  acked(message: Message, address: Address | undefined): void;
  /** Surely not stored. */
  refused(message: Message): void;
  /** All that was sent; what has no outcome yet is unknown. */
  publishes(): Publish[];
  count(outcome: Outcome): number;
  /** The number of the latest event. */
  events(): number;
};

type Record = { -readonly [name in keyof Publish]: Publish[name] };

export function createLedger(): Ledger {
  const records = new Map<string, Record>();
  const counts = { acked: 0, refused: 0, unknown: 0 };
  let events = 0;

  function open({ id }: Message): Record {
    const record = records.get(id);
    if (record === undefined || record.outcome !== 'unknown') throw new Error(`${id} was not sent, or has ended`);
    return record;
  }

  function end(message: Message, outcome: Outcome): Record {
    const record = open(message);
    record.outcome = outcome;
    record.endedAt = events += 1;
    counts.unknown -= 1;
    counts[outcome] += 1;
    return record;
  }

  return {
    sent({ id, key, digest }, line) {
      if (records.has(id)) throw new Error(`${id} was sent before`);
      counts.unknown += 1;
      const place = line === undefined ? {} : { line };
      records.set(id, { id, key, digest, ...place, sentAt: (events += 1), endedAt: Infinity, outcome: 'unknown' });
    },
    moved(message, line) {
      open(message).line = line;
    },
    acked(message, address) {
      const record = end(message, 'acked');
      if (address !== undefined) record.address = address;
    },
    refused: (message) => void end(message, 'refused'),
    publishes: () => [...records.values()],
    count: (outcome) => counts[outcome],
    events: () => events,
  };
}

export function makeMessage({ writer, number, key, filler }: { writer: string; number: number; key: string; filler: string }): Message {
  const digest = digestOf({ writer, number, key, filler });
  return { id: `${writer}/${number}`, key, digest, value: JSON.stringify({ writer, number, key, filler, sha256: digest }) };
}

/** A message as a reader got it. A value that isn't what its own hash says has a digest that nobody sent. */
export function seenMessage(address: Address, key: string, value: unknown): Seen {
  const { writer, number, filler, sha256, key: keyInValue } = value as globalThis.Record<string, unknown>;
  const expected = digestOf({ writer, number, key: keyInValue, filler });
  return {
    ...address,
    id: `${String(writer)}/${String(number)}`,
    key,
    digest: sha256 === expected ? expected : `not what its hash says: ${String(sha256)}`,
  };
}

function digestOf({ writer, number, key, filler }: globalThis.Record<string, unknown>): string {
  return createHash('sha256')
    .update(JSON.stringify([writer, number, key, filler]))
    .digest('hex');
}

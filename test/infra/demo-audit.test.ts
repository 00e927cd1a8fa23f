import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAudit, describeFindings, type Fault, type ReadFlight } from '../../infra/demo/audit.ts';
import type { Flight } from '../../infra/demo/flights.ts';

const ROWS = 40;
const KEYS = ['ATL', 'ORD', 'SFO'];

const flights: Flight[] = Array.from({ length: ROWS }, (_, row) => {
  const key = KEYS[(row * row) % KEYS.length]!;
  return { row, key, value: JSON.stringify({ row, delay: row % 7, origin: key }), timestampMs: row };
});

/** Two segments, split by key: what a broker that does everything right gives to a reader. */
const stored: ReadFlight[] = ['a', 'b'].flatMap((segment) =>
  flights
    .filter(({ key }) => (key === 'ATL') === (segment === 'a'))
    .map(({ key, value }, offset) => ({ segment, offset, key, value: JSON.parse(value) as unknown })),
);

function audited(read: readonly ReadFlight[]): Partial<Record<Fault, number>> {
  const audit = createAudit(ROWS);
  for (const flight of flights) {
    audit.sent(flight);
    const { segment, offset } = stored.find(({ value }) => (value as { row: number }).row === flight.row)!;
    audit.acknowledged(flight, { segment, offset });
  }
  for (const message of read) audit.read(message);
  return Object.fromEntries(audit.findings().map(({ fault, count }) => [fault, count]));
}

/** Offsets as a broker gives them that lost or doubled messages itself: without a gap. */
function renumbered(messages: readonly ReadFlight[]): ReadFlight[] {
  const next = new Map<string, number>();
  return messages.map((message) => {
    const offset = next.get(message.segment) ?? 0;
    next.set(message.segment, offset + 1);
    return { ...message, offset };
  });
}

const anyIndex = fc.integer({ min: 0, max: stored.length - 1 });

test('what was published, read in order, has no fault', () => {
  expect(audited(stored)).toEqual({});
});

test('messages of different segments may come in any mixture', () => {
  const [a, b] = ['a', 'b'].map((segment) => stored.filter((message) => message.segment === segment));
  const mixed = Array.from({ length: ROWS }, (_, at) => [b?.[at], a?.[at]]).flat();
  expect(audited(mixed.filter((message) => message !== undefined))).toEqual({});
});

test('a planted loss is found, whatever offsets say', () => {
  fc.assert(
    fc.property(anyIndex, (at) => {
      expect(audited(stored.toSpliced(at, 1)).lost).toBe(1);
      expect(audited(renumbered(stored.toSpliced(at, 1))).lost).toBe(1);
    }),
  );
});

test('a planted duplicate is found, beside the original or later', () => {
  fc.assert(
    fc.property(anyIndex, anyIndex, (from, to) => {
      const doubled = stored.toSpliced(Math.max(from, to) + 1, 0, stored[from]!);
      expect(audited(doubled).doubled).toBe(1);
      expect(audited(renumbered(doubled)).doubled).toBe(1);
      expect(audited(renumbered(doubled)).lost).toBeUndefined();
    }),
  );
});

test('a planted swap of two messages of a key is found', () => {
  fc.assert(
    fc.property(anyIndex, anyIndex, (left, right) => {
      const [first, second] = [stored[Math.min(left, right)]!, stored[Math.max(left, right)]!];
      fc.pre(first !== second && first.key === second.key);
      const swapped = stored.with(stored.indexOf(first), second).with(stored.indexOf(second), first);
      expect(audited(renumbered(swapped))['out of order']).toBeGreaterThanOrEqual(1);
    }),
  );
});

test.each<[string, (message: ReadFlight) => ReadFlight, Fault]>([
  ['another value', (message) => ({ ...message, value: { ...(message.value as object), delay: 99 } }), 'changed'],
  ['another key', (message) => ({ ...message, key: 'JFK' }), 'changed'],
  ['a row that was never sent', (message) => ({ ...message, value: { row: ROWS } }), 'unknown'],
  ['no flight at all', (message) => ({ ...message, value: null }), 'unknown'],
])('%s is found', (_, change, fault) => {
  fc.assert(
    fc.property(anyIndex, (at) => {
      expect(audited(stored.with(at, change(stored[at]!)))[fault]).toBe(1);
    }),
  );
});

test('a message that is not where its acknowledgement said is found', () => {
  const moved = renumbered(stored.map((message) => ({ ...message, segment: 'a' })));
  expect(audited(moved).misplaced).toBeGreaterThan(0);
});

test('a hole in the offsets is found', () => {
  expect(audited(stored.with(stored.length - 1, { ...stored.at(-1)!, offset: ROWS }))['off sequence']).toBe(1);
});

test('faults are told in one line, with the first of each', () => {
  const audit = createAudit(ROWS);
  for (const flight of flights) audit.sent(flight);
  expect(describeFindings(audit.findings())).toBe(`${ROWS} lost (first: row 0)`);
});

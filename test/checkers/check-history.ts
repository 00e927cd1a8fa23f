import { checkLineage } from './check-lineage.ts';
import { checkAcks, checkKeyOrder, checkLineOrder } from './check-order.ts';
import type { Finding, History, Publish, Read } from './history.ts';

/** Everything that is wrong with what clients sent, were told and read; empty when all is well. */
export function checkHistory({ publishes, reads, segments = [] }: History): Finding[] {
  const byId = new Map(publishes.map((publish) => [publish.id, publish]));
  if (byId.size !== publishes.length) throw new Error('an id names one message');
  const addresses = acknowledgedAddresses(publishes);
  return [
    ...addresses.findings,
    ...checkAcks(publishes),
    ...reads.flatMap((read) => [
      ...checkPositions(read),
      ...checkContents(read, byId),
      ...addresses.check(read),
      ...checkKeyOrder(read, byId),
      ...checkLineOrder(read, byId),
      ...checkLineage(read, segments),
      ...checkWhole(read, publishes),
    ]),
  ];
}

/** Offsets of a segment come one after the other; those of a complete reader from 0 to the tail. */
function checkPositions({ reader, complete, messages, tails }: Read): Finding[] {
  const findings: Finding[] = [];
  const nexts = new Map<string, number>();
  for (const { segment, offset } of messages) {
    const next = nexts.get(segment) ?? (complete ? 0 : offset);
    const what = `${reader}: ${segment}:${offset} where ${next} comes next`;
    if (offset > next) findings.push({ fault: 'poll-skip', what });
    if (offset < next) findings.push({ fault: 'nonmonotonic-poll', what });
    nexts.set(segment, offset + 1);
  }
  for (const [segment, tail] of tails ?? []) {
    const next = nexts.get(segment) ?? 0;
    if (next !== tail) findings.push({ fault: 'wrong-tail', what: `${reader}: ${segment} ends before ${next}, its tail is ${tail}` });
  }
  return findings;
}

function checkContents({ reader, messages }: Read, byId: ReadonlyMap<string, Publish>): Finding[] {
  const places = new Map<string, string>();
  return messages.flatMap(({ id, segment, offset, key, digest }): Finding[] => {
    const place = `${segment}:${offset}`;
    const what = `${reader}: ${id} at ${place}`;
    const publish = byId.get(id);
    if (publish === undefined) return [{ fault: 'unknown-message', what }];
    const other = places.get(id);
    places.set(id, other ?? place);
    return [
      ...(publish.outcome === 'refused' ? [{ fault: 'G1a', what } as const] : []),
      ...(publish.key === key && publish.digest === digest ? [] : [{ fault: 'changed', what } as const]),
      ...(other === undefined || other === place ? [] : [{ fault: 'duplicate', what: `${what} and at ${other}` } as const]),
    ];
  });
}

/** Who is where, as told by acknowledgements and by all readers together. */
function acknowledgedAddresses(publishes: readonly Publish[]): { findings: Finding[]; check: (read: Read) => Finding[] } {
  const residents = new Map<string, string>();
  const told = new Map<string, string>();

  function settle(who: string, id: string, place: string): Finding[] {
    const resident = residents.get(place) ?? id;
    residents.set(place, resident);
    return resident === id ? [] : [{ fault: 'inconsistent-offsets', what: `${who}: ${id} at ${place}, where ${resident} is` }];
  }

  const findings = publishes.flatMap(({ id, outcome, address }) => {
    if (outcome !== 'acked' || address === undefined) return [];
    const place = `${address.segment}:${address.offset}`;
    told.set(id, place);
    return settle('acknowledged', id, place);
  });
  const check = ({ reader, messages }: Read): Finding[] =>
    messages.flatMap(({ id, segment, offset }) => {
      const place = `${segment}:${offset}`;
      const acknowledged = told.get(id) ?? place;
      const what = `${reader}: ${id} at ${place}, acknowledged at ${acknowledged}`;
      return acknowledged === place ? settle(reader, id, place) : [{ fault: 'inconsistent-offsets', what }];
    });
  return { findings, check };
}

function checkWhole(
  { reader, complete, since = complete ? -Infinity : Infinity, messages }: Read,
  publishes: readonly Publish[],
): Finding[] {
  const seen = new Set(messages.map(({ id }) => id));
  return publishes
    .filter(({ id, outcome, sentAt }) => outcome === 'acked' && sentAt > since && !seen.has(id))
    .map(({ id, address }) => ({
      fault: 'lost-write',
      what: `${reader}: ${id}, acknowledged at ${address === undefined ? 'an offset not told' : `${address.segment}:${address.offset}`}`,
    }));
}

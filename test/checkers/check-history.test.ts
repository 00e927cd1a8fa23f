import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { FaultName, History, Publish, Read, Seen } from './history.ts';

const SEGMENTS = ['s0', 's1'] as const;

/** What a client did with one message: to which key and segment, how many events it took, and what it was told. */
const Sent = fc.record({
  key: fc.constantFrom('a', 'b', 'c'),
  outcome: fc.constantFrom('acked', 'acked', 'refused', 'unknown'),
  lands: fc.boolean(),
  events: fc.integer({ min: 1, max: 3 }),
});

/** A true history: messages take effect one after the other, each at some moment between its sending and its end. */
const TrueHistory = fc.array(Sent, { minLength: 1, maxLength: 30 }).map((sents): History => {
  const logs = new Map<string, Seen[]>(SEGMENTS.map((segment) => [segment, []]));
  const sequences = new Map<string, number>();
  const publishes = sents.map(({ key, outcome, lands, events }, i): Publish => {
    const segment = key === 'a' ? 's0' : 's1';
    const log = logs.get(segment) ?? [];
    const sent = { id: `m${i}`, key, digest: `digest of ${i}`, sentAt: 10 * i, endedAt: 10 * (i + events) - 5, outcome };
    if (outcome === 'refused' || (outcome === 'unknown' && !lands)) return sent;
    const address = { segment, offset: log.length };
    log.push({ ...address, id: sent.id, key, digest: sent.digest });
    const sequence = sequences.get(segment) ?? 0;
    sequences.set(segment, sequence + 1);
    return { ...sent, line: { name: `line in ${segment}`, sequence }, ...(outcome === 'acked' ? { address } : {}) };
  });
  const bySegment: Read = {
    reader: 'by segment',
    complete: true,
    messages: [...logs.values()].flat(),
    tails: new Map([...logs].map(([segment, log]) => [segment, log.length])),
  };
  const half = logs.get('s1')?.slice(Math.floor((logs.get('s1')?.length ?? 0) / 2)) ?? [];
  return { publishes, reads: [bySegment, { reader: 'from the middle', complete: false, messages: half }] };
});

test('a true history has no findings', () => {
  fc.assert(fc.property(TrueHistory, (history) => void expect(checkHistory(history)).toEqual([])));
});

const at = (offset: number, id: string, other: Partial<Seen> = {}): Seen => ({ segment: 's', offset, id, key: 'k', digest: id, ...other });
const complete = (...messages: Seen[]): Read => ({ reader: 'r', complete: true, messages });
const partial = (...messages: Seen[]): Read => ({ reader: 'r', complete: false, messages });

function publish(id: string, when: number, other: Partial<Publish> = {}): Publish {
  return { id, key: 'k', digest: id, sentAt: when, endedAt: when + 1, outcome: 'acked', ...other };
}

/** Acknowledged one after the other at 0, 1 and 2. */
const three = (['x', 'y', 'z'] as const).map((id, offset) => publish(id, 10 * offset, { address: { segment: 's', offset } }));
/** The same without their addresses. */
const threeSomewhere = (['x', 'y', 'z'] as const).map((id, i) => publish(id, 10 * i));
const all = [at(0, 'x'), at(1, 'y'), at(2, 'z')] as const;

/** `s` splits into `t` and `u`; `t` and `u` become `v`, which nothing has come into before `w` and `x` follow it. */
const segments = [
  { segment: 's', lo: 0, hi: 9, predecessors: [] },
  { segment: 't', lo: 0, hi: 4, predecessors: ['s'] },
  { segment: 'u', lo: 5, hi: 9, predecessors: ['s'] },
  { segment: 'v', lo: 0, hi: 9, predecessors: ['t', 'u'] },
  { segment: 'w', lo: 0, hi: 2, predecessors: ['v'] },
  { segment: 'x', lo: 3, hi: 9, predecessors: ['v'] },
];
/** Of different keys, so that nothing but the lineage orders them. */
const keyed = ['1', '2', '3'].map((id) => publish(id, 0, { key: id }));
const readIn = (...places: readonly (readonly [segment: string, id: string])[]): Read =>
  partial(...places.map(([segment, id], n) => at(n, id, { segment, key: id })));

const PLANTED: readonly [what: string, fault: FaultName, history: History][] = [
  ['an acknowledged message is not read', 'lost-write', { publishes: three, reads: [complete(at(0, 'x'), at(1, 'y'))] }],
  ['the only message is not read', 'lost-write', { publishes: [publish('x', 0)], reads: [complete()] }],
  ['a reader that began later lacks what was sent then', 'lost-write', { publishes: three, reads: [{ ...partial(at(1, 'y')), since: 5 }] }],
  ['a child is read before its parent', 'lineage-order', { publishes: keyed, segments, reads: [readIn(['t', '1'], ['s', '2'])] }],
  [
    'a merged segment is read before its second parent',
    'lineage-order',
    { publishes: keyed, segments, reads: [readIn(['t', '1'], ['v', '2'], ['u', '3'])] },
  ],
  ['a grandchild is read before what it covers', 'lineage-order', { publishes: keyed, segments, reads: [readIn(['w', '1'], ['t', '2'])] }],
  ['a message is read twice', 'duplicate', { publishes: threeSomewhere, reads: [complete(...all, at(3, 'x'))] }],
  [
    'a message is read in two segments',
    'duplicate',
    { publishes: threeSomewhere, reads: [complete(...all, at(0, 'z', { segment: 't' }))] },
  ],
  [
    'two readers see different messages',
    'inconsistent-offsets',
    { publishes: threeSomewhere, reads: [complete(...all), partial(at(1, 'z'))] },
  ],
  ['a message is elsewhere than acknowledged', 'inconsistent-offsets', { publishes: three, reads: [partial(at(2, 'y'))] }],
  [
    'two messages are acknowledged at one offset',
    'inconsistent-offsets',
    { publishes: ['x', 'y'].map((id) => publish(id, 0, { address: { segment: 's', offset: 0 } })), reads: [] },
  ],
  ['a complete reader begins late', 'poll-skip', { publishes: [publish('y', 0)], reads: [complete(at(1, 'y'))] }],
  ['a reader jumps', 'poll-skip', { publishes: threeSomewhere, reads: [partial(at(0, 'x'), at(2, 'z'))] }],
  ['a reader goes back', 'nonmonotonic-poll', { publishes: threeSomewhere, reads: [partial(at(1, 'y'), at(0, 'x'))] }],
  ['a reader reads again', 'nonmonotonic-poll', { publishes: threeSomewhere, reads: [partial(at(1, 'y'), at(1, 'y'))] }],
  [
    'acknowledged offsets go down',
    'nonmonotonic-send',
    { publishes: [1, 0].map((offset, i) => publish(`m${i}`, 10 * i, { address: { segment: 's', offset } })), reads: [] },
  ],
  ['a refused message is read', 'G1a', { publishes: [publish('x', 0, { outcome: 'refused' })], reads: [complete(at(0, 'x'))] }],
  ['a key is read out of order', 'key-order', { publishes: threeSomewhere, reads: [partial(at(0, 'y'), at(1, 'x'))] }],
  [
    'a key is read out of order across segments',
    'key-order',
    { publishes: threeSomewhere, reads: [partial(at(0, 'y', { segment: 't' }), at(7, 'x'))] },
  ],
  [
    'a line is read out of order, unacknowledged',
    'line-order',
    {
      publishes: ['x', 'y'].map((id, sequence) => publish(id, 0, { outcome: 'unknown', line: { name: 'l', sequence } })),
      reads: [partial(at(0, 'y'), at(1, 'x'))],
    },
  ],
  [
    'a line has a hole',
    'line-order',
    { publishes: [publish('x', 0, { line: { name: 'l', sequence: 1 } })], reads: [complete(at(0, 'x'))] },
  ],
  ['a value is changed', 'changed', { publishes: threeSomewhere, reads: [partial(at(0, 'x', { digest: 'other' }))] }],
  ['a key is changed', 'changed', { publishes: threeSomewhere, reads: [partial(at(0, 'x', { key: 'other' }))] }],
  ['nobody sent it', 'unknown-message', { publishes: three, reads: [partial(at(3, 'w'))] }],
  ['the end is cut off', 'wrong-tail', { publishes: [], reads: [{ ...complete(), tails: new Map([['s', 1]]) }] }],
];

describe('a planted fault is found', () => {
  test.each(PLANTED.map(([what, fault, history]) => ({ what, fault, history })))('$fault: $what', ({ fault, history }) => {
    expect(checkHistory(history).map((finding) => finding.fault)).toContain(fault);
  });

  test('its neighbour without the fault has none', () => {
    expect(checkHistory({ publishes: three, reads: [complete(...all), partial(at(1, 'y'), at(2, 'z'))] })).toEqual([]);
  });

  test('a reader that began later has what was sent then; parents come in any order, and so do strangers', () => {
    expect(checkHistory({ publishes: three, reads: [{ ...partial(at(1, 'y'), at(2, 'z')), since: 5 }] })).toEqual([]);
    for (const places of [
      [
        ['s', '1'],
        ['u', '2'],
        ['t', '3'],
      ],
      [
        ['u', '1'],
        ['t', '2'],
        ['v', '3'],
      ],
      [
        ['t', '1'],
        ['w', '2'],
        ['u', '3'],
      ],
    ] as const) {
      expect(checkHistory({ publishes: keyed, segments, reads: [readIn(...places)] })).toEqual([]);
    }
  });

  test('each kind is planted once', () => {
    const planted = new Set(PLANTED.map(([, fault]) => fault));
    const kinds: Record<FaultName, true> = {
      'lost-write': true,
      duplicate: true,
      'inconsistent-offsets': true,
      'poll-skip': true,
      'nonmonotonic-poll': true,
      'nonmonotonic-send': true,
      G1a: true,
      'key-order': true,
      'line-order': true,
      'lineage-order': true,
      changed: true,
      'unknown-message': true,
      'wrong-tail': true,
    };
    expect(planted).toEqual(new Set(Object.keys(kinds)));
  });

  test('an id that names two messages is an error of the test', () => {
    expect(() => checkHistory({ publishes: [publish('x', 0), publish('x', 1)], reads: [] })).toThrow('an id names one message');
  });
});

import type { Item } from '../../../src/ports/metadata-table.ts';
import { extendLine } from '../../../src/protocol/producer-line.ts';
import type { ProcessState } from '../engine/process.ts';
import type { Scope } from '../engine/world.ts';
import { cidOf, committed, headItem, newHead, openHead, SEGMENT } from '../processes/broker.ts';
import { publisher, type Member } from '../processes/publisher.ts';
import { lineClient } from '../processes/line-client.ts';
import { inheritLine, mergeClient } from '../processes/merge-client.ts';
import { sealer } from '../processes/sealer.ts';
import { spiller } from '../processes/spiller.ts';
import { segmentId } from '../../../src/model/ids.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';

type Faults = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

const content = (message: string) => ({ message, count: 1 });
const batch = (producer: string, sequence: number, epoch = 0): Member => ({
  message: `${producer}${sequence}`,
  producer: { producer, epoch, sequence },
});

const has = (state: ProcessState, message: string): boolean =>
  (state.results ?? []).some((result) => result.message === message && (result.result === 'acked' || result.result === 'duplicate'));

/**
 * A group of a producer's batch and a plain message at one broker; the client, out of patience, sends the batch to another
 * one, too. `twice`: the batch is in the group twice, for it was sent again on another connection.
 */
export function variants(
  size: Faults & { readonly twice?: boolean; readonly seals?: boolean; readonly later?: boolean; readonly spillers: number },
): Scope {
  const birth = openHead();
  const group = [
    batch('p', size.later === true ? 1 : 0),
    ...(size.twice === true ? [batch('p', size.later === true ? 1 : 0)] : []),
    { message: 'x' },
  ];
  return {
    items: [headItem(birth), ...(size.seals === true ? [childItem] : [])],
    processes: [
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: group, known: [birth] }),
      publisher({ name: 'B', instance: 'b', nowMs: 4, object: 'ob', members: [batch('p', 0)], known: [birth] }),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, 1)),
      ...(size.seals === true ? [sealer('sealer', [CHILD])] : []),
    ],
    budgets: size,
    objects: { oa: group.map(({ message }) => content(message)), ob: [content('p0')] },
    orders: [['p0', 'p1']],
    withoutGaps: true,
  };
}

/** One child for the whole range: the shape of a failover. */
const CHILD = { segment: segmentId(1), lo: 0, hi: PARTITIONS - 1 };
const childItem = headItem(newHead(CHILD.segment, { predecessors: [SEGMENT] }), CHILD.segment);

/**
 * Producers in a head that has room for one line. A batch is sent to two brokers, the next one once it is acked, so that it
 * may not be called a gap; others push the line out. `begun`: the line stands in the head at first, and goes on from there.
 */
export function evictions(
  size: Faults & { readonly begun: boolean; readonly known: boolean; readonly others: number; readonly later: boolean },
): Scope {
  const birth = size.begun ? afterFirstBatch() : openHead();
  const known = size.known ? { known: [birth] } : {};
  const first = size.begun ? 1 : 0;
  const acked = (message: string) => (stateOf: (name: string) => ProcessState) => has(stateOf('A'), message) || has(stateOf('B'), message);
  return {
    items: [headItem(birth)],
    processes: [
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [batch('p', first)], ...known }),
      publisher({ name: 'B', instance: 'b', nowMs: 4, object: 'ob', members: [batch('p', first)], ...known }),
      ...['q', 'r']
        .slice(0, size.others)
        .map((name) => publisher({ name: name.toUpperCase(), instance: name, nowMs: 3, object: `o${name}`, members: [batch(name, 0)] })),
      ...(size.later
        ? [
            publisher(
              { name: 'D', instance: 'd', nowMs: 3, object: 'od', members: [batch('p', first + 1)], finalGap: true },
              acked(`p${first}`),
            ),
          ]
        : []),
    ],
    budgets: size,
    objects: {
      o0: [content('p0')],
      oa: [content(`p${first}`)],
      ob: [content(`p${first}`)],
      oq: [content('q0')],
      or: [content('r0')],
      od: [content(`p${first + 1}`)],
    },
    orders: [['p0', 'p1', 'p2']],
    withoutGaps: true,
  };
}

/**
 * A producer that was started again, with a newer epoch, while batches of the older one are on their way: none of those is
 * stored behind one of the newer.
 */
export function epochs(size: Faults & { readonly others: number; readonly spillers: number }): Scope {
  const birth = openHead();
  const sent = [
    { name: 'A', message: 'a', epoch: 0, sequence: 0 },
    { name: 'B', message: 'b', epoch: 0, sequence: 1 },
    { name: 'C', message: 'c', epoch: 1, sequence: 0 },
  ];
  return {
    items: [headItem(birth)],
    processes: [
      ...sent.map(({ name, message, epoch, sequence }, index) =>
        publisher({
          name,
          instance: message,
          nowMs: 5 - index,
          object: `o${message}`,
          members: [{ message, producer: { producer: 'p', epoch, sequence } }],
        }),
      ),
      ...['q']
        .slice(0, size.others)
        .map((name) => publisher({ name: name.toUpperCase(), instance: name, nowMs: 3, object: `o${name}`, members: [batch(name, 0)] })),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, 1)),
    ],
    budgets: size,
    objects: { oa: [content('a')], ob: [content('b')], oc: [content('c')], oq: [content('q0')] },
    orders: [['a', 'b', 'c']],
  };
}

function afterFirstBatch(): Item {
  const line = extendLine(undefined, { epoch: 0, sequence: 0, count: 1 }, { cid: cidOf(1, 'x'), delta: 0 });
  return committed(openHead(), 'o0', 1, [{ producer: 'p', before: undefined, after: line }]);
}

/** A producer's client whose segment is sealed under it; `eachAlone`: it moves each batch by itself. */
export function lineEnds(size: Faults & { readonly eachAlone?: boolean }): Scope {
  const birth = openHead();
  return {
    items: [headItem(birth), childItem],
    processes: [
      lineClient({ name: 'client', child: segmentId(1), known: [birth], eachAlone: size.eachAlone === true }),
      sealer('sealer', [CHILD]),
    ],
    budgets: size,
    objects: Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].flatMap((name) => [0, 1].map((n) => [`o${name}${n}`, [content(`p${n}`)]]))),
    orders: [['p0', 'p1']],
    withoutGaps: true,
  };
}

const HALF = PARTITIONS / 2;
/** What the child's line could begin with. */
const NUMBERS = [Math.max, Math.min, (one = 0, other = 0): number => one + other];

/**
 * A producer's client with a line in each of two segments, which are merged under it. `batches`: of its first line; `inherits`: by
 * which of the numbers.
 */
export function linesMerge(size: Faults & { readonly batches: number; readonly inherits?: number }): Scope {
  const parents = [SEGMENT, segmentId(1)];
  const births = [openHead(SEGMENT, { hi: HALF - 1 }), openHead(segmentId(1), { lo: HALF })];
  const child = { segment: segmentId(2), lo: 0, hi: PARTITIONS - 1 };
  const batches = [
    ...Array.from({ length: size.batches }, (_, sequence) => ({ message: `p${sequence}`, segment: SEGMENT, sequence })),
    { message: 'q0', segment: segmentId(1), sequence: 0 },
  ];
  const numberOf = NUMBERS[size.inherits ?? -1];
  const plain = sealer('sealer', [child], parents);
  return {
    items: [
      ...births.map((birth, n) => headItem(birth, segmentId(n))),
      headItem(newHead(child.segment, { predecessors: parents }), child.segment),
    ],
    processes: [
      mergeClient({ name: 'client', child: child.segment, known: births, batches, inherits: numberOf !== undefined }),
      numberOf === undefined ? plain : inheritLine(plain, { parents, child: child.segment, numberOf }),
    ],
    budgets: size,
    objects: Object.fromEntries(
      ['a', 'b', 'c'].flatMap((upload) => batches.map(({ message }) => [`o${upload}${message}`, [content(message)]])),
    ),
    orders: [['p0', 'p1']],
    withoutGaps: true,
  };
}

import { headKey } from '../../../src/format/item-key.ts';
import { segmentId } from '../../../src/model/ids.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';
import { isTransient } from '../../../src/state/ask-again.ts';
import type { Process } from '../engine/process.ts';
import type { Scope } from '../engine/world.ts';
import { cidOf, headItem, newHead, NEVER_ABORTED, openHead, SEGMENT, TOPIC } from '../processes/broker.ts';
import { handler, HIGH_KEY, LOW_KEY, placer } from '../processes/placer.ts';
import { publisher } from '../processes/publisher.ts';
import { sealer } from '../processes/sealer.ts';
import { spiller } from '../processes/spiller.ts';

type Faults = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

const HALF = PARTITIONS / 2;
const LEFT = { segment: segmentId(1), lo: 0, hi: HALF - 1 };
const RIGHT = { segment: segmentId(2), lo: HALF, hi: PARTITIONS - 1 };

/** The segment splits in two, or goes on as one. */
const CHILDREN = [LEFT, RIGHT];
const childItems = CHILDREN.map((range) => headItem(newHead(range.segment, { ...range, predecessors: [SEGMENT] }), range.segment));
const sealers = (count: number): Process[] => Array.from({ length: count }, (_, index) => sealer(`sealer${index + 1}`, CHILDREN));

/** Brokers with a plain message each. */
const plain = (count: number): Process[] =>
  ['x', 'y'].slice(0, count).map((message) =>
    publisher({
      name: message.toUpperCase(),
      instance: message,
      nowMs: 6,
      object: `o${message}`,
      members: [{ message }],
      known: [openHead()],
    }),
  );
const PLAIN_OBJECTS = { ox: [{ message: 'x', count: 1 }], oy: [{ message: 'y', count: 1 }] };

/** What a sweeper does before it looks for garbage: from then on, objects of the first minute can't be committed. */
const floorRaiser: Process = {
  name: 'sweeper',
  start: {},
  phases: [
    async (table, state) => {
      const condition = [{ op: '<', path: ['f'], value: FLOOR }] as const;
      const raise = { condition, changes: [{ op: 'set', path: ['f'], value: FLOOR }] } as const;
      await table.update(headKey(TOPIC, SEGMENT), raise, NEVER_ABORTED).catch((error: unknown) => {
        if (!isTransient(error)) throw error;
      });
      return state;
    },
  ],
};
const FLOOR = '00000001';

/** A request whose segment is sealed on the way, by one or several who carry the change on; spillers work on the sealed head, too. */
export function sealedUnderfoot(
  size: Faults & {
    readonly sealers: number;
    readonly spillers: number;
    readonly both: boolean;
    readonly floor?: boolean;
    readonly expected?: number;
    readonly others?: number;
  },
): Scope {
  const birth = openHead();
  const messages = [{ message: 'a', key: LOW_KEY }, ...(size.both ? [{ message: 'b', key: HIGH_KEY }] : [])];
  const tail = size.expected === undefined ? {} : { matchTail: size.expected };
  return {
    items: [headItem(birth), ...childItems],
    processes: [
      placer({ name: 'A', instance: 'a', nowMs: 5, messages, known: [birth], ...tail }),
      ...plain(size.others ?? 0),
      ...sealers(size.sealers),
      ...(size.floor === true ? [floorRaiser] : []),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, 1)),
    ],
    budgets: size,
    objects: PLAIN_OBJECTS,
  };
}

/** Several handlers of one request with an Idempotency-Key, beside a plain publisher, a spiller and a seal. */
export function idempotent(
  size: Faults & {
    readonly handlers: number;
    readonly spillers: number;
    readonly others: number;
    readonly sealers: number;
    readonly expected?: number;
    readonly floor?: boolean;
  },
): Scope {
  const birth = openHead();
  return {
    items: [headItem(birth), ...childItems],
    processes: [
      ...['A', 'B', 'C'].slice(0, size.handlers).map((name, index) =>
        handler({
          name,
          instance: name.toLowerCase(),
          nowMs: 5 - index,
          messages: [{ message: 'm', key: LOW_KEY }],
          known: [birth],
          ...(size.expected === undefined ? {} : { matchTail: size.expected }),
        }),
      ),
      ...plain(size.others),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, 1)),
      ...sealers(size.sealers),
      ...(size.floor === true ? [floorRaiser] : []),
    ],
    budgets: size,
    objects: PLAIN_OBJECTS,
  };
}

/** Two handlers that commit under one recorded id, each with its own object; `mates`: one of them with somebody else's message. */
export function recorded(size: Faults & { readonly mates?: boolean }): Scope {
  const birth = openHead();
  const attempt = { cid: cidOf(5, 'r'), tail: 0 };
  const mates = size.mates === true ? [{ message: 'x' }] : [];
  return {
    items: [headItem(birth)],
    processes: [
      publisher({
        name: 'A',
        instance: 'a',
        nowMs: 5,
        object: 'oa',
        members: [{ message: 'm' }, ...mates],
        recorded: attempt,
        known: [birth],
      }),
      publisher({ name: 'B', instance: 'b', nowMs: 4, object: 'ob', members: [{ message: 'm' }], recorded: attempt, known: [birth] }),
      spiller('spiller1', 1),
    ],
    budgets: size,
    objects: { oa: [{ message: 'm', count: 1 }, ...mates.map(({ message }) => ({ message, count: 1 }))], ob: [{ message: 'm', count: 1 }] },
  };
}

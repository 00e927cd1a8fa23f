import type { Scope } from '../engine/world.ts';
import { committed, headItem, killed, openHead, pageItem } from '../processes/broker.ts';
import { oneBroker } from '../processes/one-broker.ts';
import { publisher } from '../processes/publisher.ts';
import { reader } from '../processes/reader.ts';
import { spiller } from '../processes/spiller.ts';

type Faults = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

const content = (message: string) => [{ message, count: 1 }];

/**
 * Entries whose ids are out of order, spilled by several brokers at once, with a publisher beside them. `leftover`: a kill
 * has raised the guard, and a spiller has ended between its two steps, so that two spills go by under one guard.
 */
export function spillRace(size: Faults & { readonly spillers: number; readonly rounds: number; readonly leftover: boolean }): Scope {
  const first = committed(openHead(), 'o6', 6);
  const head = committed(committed(first, 'o4', 4), 'o5', 5);
  return {
    items: size.leftover ? [headItem(killed(head, 9)), pageItem(first)] : [headItem(head)],
    processes: [
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, size.rounds)),
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }] }),
    ],
    budgets: size,
    objects: { o6: content('6'), o4: content('4'), o5: content('5'), oa: content('a') },
  };
}

/** Brokers with different clocks commit plain messages while others spill: F27, and the fate of lost answers. */
export function publishAndSpill(
  size: Faults & {
    readonly publishers: number;
    readonly spillers: number;
    readonly rounds: number;
    readonly sameClock?: boolean;
    readonly full?: boolean;
  },
): Scope {
  const names = ['A', 'B', 'C'].slice(0, size.publishers);
  const birth = size.full === true ? committed(committed(openHead(), 'x0', 1), 'x1', 2) : openHead();
  return {
    items: [headItem(birth)],
    processes: [
      ...names.map((name, index) =>
        publisher({
          name,
          instance: name.toLowerCase(),
          nowMs: size.sameClock === true ? 5 : 5 - index,
          object: `o${name.toLowerCase()}`,
          members: [{ message: name.toLowerCase() }],
          known: [birth],
        }),
      ),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, size.rounds)),
    ],
    budgets: size,
    objects: { oa: content('a'), ob: content('b'), oc: content('c'), x0: content('0'), x1: content('1') },
  };
}

/** Readers beside publishers and spillers. */
export function readAndSpill(size: Faults & { readonly readers: number; readonly rounds: number; readonly messagesMax: number }): Scope {
  let head = openHead();
  for (const [object, timeMs] of [
    ['o6', 6],
    ['o4', 4],
  ] as const)
    head = committed(head, object, timeMs);
  return {
    items: [headItem(head)],
    processes: [
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }], known: [head] }),
      spiller('spiller1', size.rounds),
      spiller('spiller2', size.rounds),
      ...Array.from({ length: size.readers }, (_, index) => reader(`reader${index + 1}`, { rounds: 3, messagesMax: size.messagesMax })),
    ],
    budgets: size,
    objects: { o6: content('6'), o4: content('4'), oa: content('a') },
  };
}

/** A request that expects a tail, beside plain ones that move it; the head is full where `full` says so. */
export function matchTail(
  size: Faults & {
    readonly others: number;
    readonly spillers: number;
    readonly rounds: number;
    readonly expected: number;
    readonly before: number;
  },
): Scope {
  let head = openHead();
  for (let index = 0; index < size.before; index += 1) head = committed(head, `x${index}`, index + 1);
  const others = ['B', 'C'].slice(0, size.others);
  return {
    items: [headItem(head)],
    processes: [
      publisher({ name: 'A', instance: 'a', nowMs: 5, object: 'oa', members: [{ message: 'a' }], matchTail: size.expected, known: [head] }),
      ...others.map((name, index) =>
        publisher({
          name,
          instance: name.toLowerCase(),
          nowMs: index === 0 ? 4 : 6,
          object: `o${name.toLowerCase()}`,
          members: [{ message: name.toLowerCase() }],
          known: [head],
        }),
      ),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, size.rounds)),
    ],
    budgets: size,
    objects: { oa: content('a'), ob: content('b'), oc: content('c'), x0: content('0'), x1: content('1'), x2: content('2') },
  };
}

/** One instance with two groups in flight and its own spills, beside another broker. */
export function groupsOfOneBroker(size: Faults & { readonly others: number; readonly spillers: number }): Scope {
  const birth = openHead();
  const clock = { instance: 'a', nowMs: 5 };
  const groups = ['a', 'b'].map((message) => ({ ...clock, name: message, object: `o${message}`, members: [{ message }] }));
  return {
    items: [headItem(birth)],
    processes: [
      oneBroker('broker', clock, groups, [birth]),
      ...['C']
        .slice(0, size.others)
        .map((name) => publisher({ name, instance: 'c', nowMs: 4, object: 'oc', members: [{ message: 'c' }], known: [birth] })),
      ...Array.from({ length: size.spillers }, (_, index) => spiller(`spiller${index + 1}`, 1)),
    ],
    budgets: size,
    objects: { oa: content('a'), ob: content('b'), oc: content('c') },
  };
}

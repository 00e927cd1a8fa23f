import { topicKey } from '../../../src/format/item-key.ts';
import { encodeTopic } from '../../../src/format/topic-item.ts';
import { segmentId } from '../../../src/model/ids.ts';
import type { Item } from '../../../src/ports/metadata-table.ts';
import type { Scope } from '../engine/world.ts';
import { headItem, openHead, SEGMENT, topicItem, WHOLE } from '../processes/broker.ts';
import {
  batchObject,
  batchObjectItem,
  collector,
  committer,
  lastCollector,
  latePut,
  SLOW_MS,
  oldObjectItem,
  writer,
} from '../processes/collector.ts';
import { leader } from '../processes/leader.ts';
import { spiller } from '../processes/spiller.ts';

type Faults = { readonly unanswered: number; readonly late: number };

export type GarbageSize = Faults & {
  /** Who writes to the segment, and who to the child that comes after it. */
  readonly writers: number;
  readonly heirs: number;
  readonly leaders: number;
  readonly spillers: number;
  readonly sweepers: number;
  /** Sweeps by a clock that is slow. */
  readonly slow?: number;
  /** A PUT that comes back, two sweeps after it, and a look at what is left. */
  readonly last?: boolean;
};

const content = (message: string) => [{ message, count: 1 }];
const CHILD = segmentId(1);

/** Objects that somebody puts and commits, however late, while sweeps delete what nobody needs, and the topic changes. */
export function garbage(size: GarbageSize): Scope {
  const birth = openHead();
  const writers = ['A', 'B'].slice(0, size.writers).map((name, n) => {
    const own = name.toLowerCase();
    return writer({ name, instance: own, nowMs: 5 - n, message: own, known: [birth] });
  });
  const heirs = ['C', 'D'].slice(0, size.heirs).map((name) => {
    return committer({ name, instance: name.toLowerCase(), nowMs: 5, message: name.toLowerCase(), segment: CHILD });
  });
  const [last, slow] = [size.last === true, size.slow ?? 0];
  const hasPut = [...writers, ...heirs].map(({ name }) => name);
  return {
    items: [
      [topicKey(topicItem([WHOLE]).id), encodeTopic(topicItem([WHOLE]))],
      headItem(birth),
      ...(slow > 0 ? [oldObjectItem('s')] : []),
      ...['c', 'd'].slice(0, size.heirs).map(batchObjectItem),
    ],
    processes: [
      ...writers,
      ...heirs,
      ...Array.from({ length: size.leaders }, (_, n) => leader(`leader${n + 1}`, [SEGMENT])),
      ...Array.from({ length: size.spillers }, (_, n) => spiller(`spiller${n + 1}`, 1)),
      ...Array.from({ length: size.sweepers }, (_, n) => collector(`sweeper${n + 1}`)),
      ...Array.from({ length: slow }, (_, n) => collector(`slow${n + 1}`, SLOW_MS)),
      ...(last
        ? [latePut('network', 'a'), lastCollector('last', (stateOf) => ['network', ...hasPut].every((name) => 'put' in stateOf(name)))]
        : []),
    ],
    budgets: size,
    objects: Object.fromEntries(['a', 'b', 'c', 'd'].map((message) => [batchObject(message), content(message)])),
    check: checkObjects,
  };
}

/** What is in the index has its object. */
const checkObjects: NonNullable<Scope['check']> = (itemsOf) => {
  const there = new Set(itemsOf('o#').map(({ sk }) => String(sk).split('/').slice(2).join('/')));
  const pages = itemsOf('p#').filter(({ entries }) => entries !== undefined);
  const bodies = [
    ...itemsOf('h#').flatMap((head) => Object.values(head['m'] as Item)),
    ...pages.flatMap((page) => page['entries'] as Item[]),
  ];
  const lost = bodies.map((body) => String((body as Item)['o'])).find((object) => !there.has(object));
  return lost === undefined ? undefined : `object-lost: ${lost} is in the index, and gone`;
};

import { topicKey } from '../../../src/format/item-key.ts';
import { encodeTopic } from '../../../src/format/topic-item.ts';
import type { Item } from '../../../src/ports/metadata-table.ts';
import type { Scope } from '../engine/world.ts';
import { archiver, dropper, lastArchiver } from '../processes/archiver.ts';
import { committed, headItem, openHead, spilledItems, topicItem, WHOLE } from '../processes/broker.ts';
import { batchObject, oldCollector, oldObjectItem } from '../processes/collector.ts';
import { publisher } from '../processes/publisher.ts';
import { reader } from '../processes/reader.ts';
import { latePage, spiller } from '../processes/spiller.ts';

type Faults = { readonly unanswered: number; readonly late: number };

export type ArchiveSize = Faults & {
  readonly publishers: number;
  readonly spillers: number;
  readonly archivers: number;
  readonly sweepers: number;
  /** Who has the segment begin at `to`. */
  readonly droppers?: number;
  readonly to?: number;
  /** Whoever comes at last archives all that there is. */
  readonly last?: boolean;
  /** Messages that are in the head already. */
  readonly before: number;
  /** They are in a page already. */
  readonly spilled?: boolean;
  /** How often each of them goes about it. */
  readonly rounds: number;
  /** What a file has at most, one a message; absent: the first archiver makes larger ones than the second. */
  readonly fileBytesMax?: number;
};

/** Their clocks differ, so that none leaves a record to the other one. */
const HOUR_MS = 3_600_000;

const content = (message: string) => [{ message, count: 1 }];

function headOf(messages: number, object: (n: number) => string): Item {
  let head = openHead();
  for (let n = 0; n < messages; n += 1) head = committed(head, object(n), n + 1);
  return head;
}

/** Messages that leave the index for files while others are committed, and look for what became of them. */
export function publishAndArchive(size: ArchiveSize): Scope {
  const birth = headOf(size.before, (n) => `x${n}`);
  const objects = { oa: content('a'), ob: content('b'), x0: content('0'), x1: content('1') };
  return {
    items: size.spilled === true ? spilledItems(birth) : [headItem(birth)],
    processes: [
      ...['A', 'B'].slice(0, size.publishers).map((name, index) => {
        const own = name.toLowerCase();
        return publisher({ name, instance: own, nowMs: 5 - index, object: `o${own}`, members: [{ message: own }], known: [birth] });
      }),
      ...Array.from({ length: size.spillers }, (_, n) => spiller(`spiller${n + 1}`, size.rounds)),
      ...Array.from({ length: size.archivers }, (_, n) =>
        archiver(`archiver${n + 1}`, { rounds: size.rounds, nowMs: (n + 1) * HOUR_MS, fileBytesMax: size.fileBytesMax ?? 2 - n, objects }),
      ),
      ...Array.from({ length: size.droppers ?? 0 }, (_, n) => dropper(`dropper${n + 1}`, { to: size.to ?? 1, nowMs: HOUR_MS })),
      ...(size.last === true ? [lastArchiver('last', { nowMs: 9 * HOUR_MS, fileBytesMax: 2, objects })] : []),
      ...Array.from({ length: size.sweepers }, (_, n) => oldCollector(`sweeper${n + 1}`, { all: false })),
    ],
    budgets: size,
    objects,
  };
}

export type ReadArchivedSize = Faults & {
  readonly archivers: number;
  readonly droppers: number;
  readonly sweepers: number;
  /** Pages that come back once they were deleted: a spiller's put was on its way for long. */
  readonly ghosts: number;
  readonly rounds: number;
};

/** A reader of messages that leave the index, whose pages and objects go. */
export function readArchived(size: ReadArchivedSize): Scope {
  const names = ['0', '1'];
  const birth = headOf(names.length, (n) => batchObject(String(n)));
  const objects = Object.fromEntries(names.map((name) => [batchObject(name), content(name)]));
  return {
    items: [[topicKey(topicItem([WHOLE]).id), encodeTopic(topicItem([WHOLE]))], ...spilledItems(birth), ...names.map(oldObjectItem)],
    processes: [
      reader('reader', { rounds: size.rounds, messagesMax: 1, objects: true }),
      ...Array.from({ length: size.archivers }, (_, n) => {
        return archiver(`archiver${n + 1}`, { rounds: 1, nowMs: (n + 1) * HOUR_MS, fileBytesMax: 2 - n, objects });
      }),
      ...Array.from({ length: size.droppers }, (_, n) => dropper(`dropper${n + 1}`, { to: 1, nowMs: HOUR_MS })),
      ...Array.from({ length: size.sweepers }, (_, n) => oldCollector(`sweeper${n + 1}`, { all: true })),
      ...Array.from({ length: size.ghosts }, (_, n) => latePage(`ghost${n + 1}`, birth)),
    ],
    budgets: size,
    objects,
  };
}

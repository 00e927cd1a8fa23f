import type { ArchiveDeps, MessageSource } from '../../../src/archive/archive-deps.ts';
import { archiveNext, archiveSegment } from '../../../src/archive/archive-segment.ts';
import { advanceStart } from '../../../src/archive/retention/advance-start.ts';
import { decodeHead } from '../../../src/format/head-item.ts';
import { decodePage } from '../../../src/format/page-item.ts';
import type { Entry } from '../../../src/model/head.ts';
import type { StoredMessage } from '../../../src/model/message.ts';
import type { Item, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { readArchive } from '../../../src/state/archives.ts';
import type { Phase, Process } from '../engine/process.ts';
import type { Scope } from '../engine/world.ts';
import { brokerDeps, NEVER_ABORTED, SEGMENT, TOPIC, topicItem, WHOLE } from './broker.ts';
import { noFileCompression, objectStore } from './objects.ts';
import { unlessUnanswered } from './unless-unanswered.ts';

type Objects = NonNullable<Scope['objects']>;

/** All is due at once, and no file has more than that of the bytes that entries have here, one a message. */
export type ArchiverOptions = { readonly nowMs: number; readonly fileBytesMax: number; readonly objects: Objects };

/** Takes a segment's next messages into a file, some times over. */
export function archiver(name: string, { rounds, ...options }: ArchiverOptions & { readonly rounds: number }): Process {
  const round: Phase = async (table, state) => {
    await unlessUnanswered(archiveNext(archiveDeps(table, options), topicItem([WHOLE]), SEGMENT, NEVER_ABORTED));
    return state;
  };
  return { name, start: {}, phases: Array.from({ length: rounds }, () => round) };
}

/** Archives all that there is, whatever others were stopped in. */
export function lastArchiver(name: string, options: ArchiverOptions): Process {
  const last: Phase = async (table, state) => {
    const deps = archiveDeps(table, options);
    const head = await deps.heads.read(TOPIC, SEGMENT, NEVER_ABORTED);
    const archiving = archiveSegment(deps, topicItem([WHOLE]), SEGMENT, NEVER_ABORTED);
    const ended = await unlessUnanswered(archiving.then(() => readArchive(deps, { topic: TOPIC, segment: SEGMENT }, NEVER_ABORTED)));
    const isStuck = ended !== undefined && head !== undefined && ended.through < head.tail;
    return isStuck ? { ...state, faults: [`archive-stuck: at ${ended.through}, the tail is ${head.tail}`] } : state;
  };
  return { name, start: {}, phases: [last] };
}

/** Has the segment begin at an offset, as retention and truncation do. */
export function dropper(name: string, { to, nowMs }: { readonly to: number; readonly nowMs: number }): Process {
  const drop: Phase = async (table, state) => {
    const deps = { ...brokerDeps(table, { instance: 'w', nowMs }), settleSubmitting: async () => {} };
    await unlessUnanswered(advanceStart(deps, { topic: topicItem([WHOLE]), segment: SEGMENT }, to, NEVER_ABORTED));
    return state;
  };
  return { name, start: {}, phases: [drop] };
}

function archiveDeps(table: MetadataTable, { nowMs, fileBytesMax, objects }: ArchiverOptions): ArchiveDeps {
  const seen = noticing(table);
  return {
    ...brokerDeps(seen.table, { instance: 'w', nowMs }),
    store: objectStore(table),
    compression: noFileCompression,
    messages: messagesOf(seen.entries, objects),
    settleSubmitting: async () => {},
    oneAtATime: <T>(work: () => Promise<T>) => work(),
    fileBytesMax,
    fileAgeMs: 0,
  };
}

/** What an entry holds never changes: whoever has seen it knows its messages. */
function noticing(table: MetadataTable): { readonly table: MetadataTable; readonly entries: Map<number, Entry> } {
  const entries = new Map<number, Entry>();
  const notice = (item: Item | undefined): void => {
    if (item === undefined) return;
    const own = item['c'] !== undefined ? decodeHead(item).entries : item['entries'] !== undefined ? decodePage(item).entries : [];
    for (const entry of own) entries.set(entry.offset, entry);
  };
  return {
    entries,
    table: {
      ...table,
      async get(key, signal) {
        const item = await table.get(key, signal);
        notice(item);
        return item;
      },
      async query(query, signal) {
        const found = await table.query(query, signal);
        found.items.forEach(notice);
        return found;
      },
    },
  };
}

const messagesOf = (entries: ReadonlyMap<number, Entry>, objects: Objects): MessageSource => ({
  async *read(_topic, { first, last }) {
    const messages = [...entries.values()].flatMap(({ offset, object }) =>
      (objects[object.id] ?? []).map(({ message }, n): StoredMessage => {
        const value = new Uint8Array(Buffer.from(message, 'latin1'));
        return { offset: offset + n, partition: 0, timestampMs: 0, key: new Uint8Array(0), value, headers: [] };
      }),
    );
    yield messages.filter(({ offset }) => first <= offset && offset <= last).toSorted((a, b) => a.offset - b.offset);
  },
});

import type { ArchiveDeps, MessageSource } from '../../../src/archive/archive-deps.ts';
import { archiveNext, archiveSegment } from '../../../src/archive/archive-segment.ts';
import { advanceStart } from '../../../src/archive/retention/advance-start.ts';
import { decodeHead } from '../../../src/format/head-item.ts';
import { decodePage } from '../../../src/format/page-item.ts';
import type { Entry } from '../../../src/model/head.ts';
import type { StoredMessage } from '../../../src/model/message.ts';
import type { Item, MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { CommitDeps } from '../../../src/publish/commit-deps.ts';
import { settleSubmitting } from '../../../src/reference/settle-submitting.ts';
import { readArchive } from '../../../src/state/archives.ts';
import type { Phase, Process } from '../engine/process.ts';
import { namedContents } from '../engine/stored-log.ts';
import type { Content, Scope } from '../engine/world.ts';
import { brokerDeps, NEVER_ABORTED, SEGMENT, TOPIC, topicItem, WHOLE } from './broker.ts';
import { noFileCompression, objectStore } from './objects.ts';
import { unlessUnanswered } from './unless-unanswered.ts';

/** What is in objects, or how they are called by it. */
type Objects = NonNullable<Scope['objects']> | 'named';

/** `uploads`: whether there are any, which have to be settled. */
type Settling = { readonly nowMs: number; readonly uploads?: boolean };
/** All is due at once, and no file has more than that of the bytes that entries have here, one a message. */
export type ArchiverOptions = Settling & { readonly fileBytesMax: number; readonly objects: Objects };

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
export function dropper(name: string, { to, ...settling }: Settling & { readonly to: number }): Process {
  const drop: Phase = async (table, state) => {
    const deps = settlingDeps(table, settling);
    const head = await deps.heads.read(TOPIC, SEGMENT, NEVER_ABORTED);
    if (head === undefined || head.tail < to) return state;
    await unlessUnanswered(advanceStart(deps, { topic: topicItem([WHOLE]), segment: SEGMENT }, to, NEVER_ABORTED));
    return state;
  };
  return { name, start: {}, phases: [drop] };
}

function archiveDeps(table: MetadataTable, { fileBytesMax, objects, ...settling }: ArchiverOptions): ArchiveDeps {
  const seen = noticing(table);
  return {
    ...settlingDeps(seen.table, settling),
    store: objectStore(table),
    compression: noFileCompression,
    messages: messagesOf(seen.entries, objects),
    oneAtATime: <T>(work: () => Promise<T>) => work(),
    fileBytesMax,
    fileAgeMs: 0,
  };
}

function settlingDeps(table: MetadataTable, { nowMs, uploads = false }: Settling): CommitDeps & Pick<ArchiveDeps, 'settleSubmitting'> {
  const deps = brokerDeps(table, { instance: 'w', nowMs });
  return {
    ...deps,
    settleSubmitting: async (topic, upTo, signal) => (uploads ? settleSubmitting(deps, topic.id, upTo, signal) : undefined),
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

const contentsOf = (objects: Objects, id: string): readonly Content[] =>
  (objects === 'named' ? namedContents(id, SEGMENT) : objects[id]) ?? [];

const messagesOf = (entries: ReadonlyMap<number, Entry>, objects: Objects): MessageSource => ({
  async *read(_topic, { first, last }) {
    const messages = [...entries.values()].flatMap(({ offset, object }) =>
      contentsOf(objects, object.id).map(({ message }, n): StoredMessage => {
        const value = new Uint8Array(Buffer.from(message, 'latin1'));
        return { offset: offset + n, partition: 0, timestampMs: 0, key: new Uint8Array(0), value, headers: [] };
      }),
    );
    yield messages.filter(({ offset }) => first <= offset && offset <= last).toSorted((a, b) => a.offset - b.offset);
  },
});

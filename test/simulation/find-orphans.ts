import { decodeFileRecord } from '../../src/format/file-record-item.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { decodePage } from '../../src/format/page-item.ts';
import { archivedFileKey, entryObjectKey, uploadObjectKey } from '../../src/format/object-key.ts';
import { decodeUpload } from '../../src/format/upload-item.ts';
import type { Archive, FileRecord } from '../../src/model/archive.ts';
import type { Entry, Head, Page } from '../../src/model/head.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { readArchive } from '../../src/state/archives.ts';
import type { Item, MetadataTable } from '../../src/ports/metadata-table.ts';
import { interceptTable } from './intercept.ts';
import type { Stores } from './read-log.ts';

const forEver = new AbortController().signal;
const PAGE_MAX = 10_000;

/** A table that knows which partitions it has had. */
export function countingTable(table: MetadataTable): { readonly table: MetadataTable; readonly partitions: ReadonlySet<string> } {
  const partitions = new Set<string>();
  const around: Parameters<typeof interceptTable>[1] = (call, make) => {
    if ('key' in call) partitions.add(call.key.pk);
    return make();
  };
  return { table: interceptTable(table, around), partitions };
}

type Segment = { readonly archive: Archive; readonly head: Head; readonly pages: readonly Page[]; readonly records: readonly FileRecord[] };

/** What is there and belongs to nothing, once all that has left the index did so long ago. `topics`: those that are there. */
export async function findOrphans(
  { table, store, partitions }: Stores & { readonly partitions: ReadonlySet<string> },
  topics: readonly Topic[],
): Promise<string[]> {
  const items = new Map<string, readonly Item[]>();
  for (const pk of partitions) items.set(pk, (await table.query({ pk, limit: PAGE_MAX }, forEver)).items);
  const itemsOf = (pk: string): readonly Item[] => items.get(pk) ?? [];
  const needed = new Set<string>();
  const open = new Set<string>();
  const orphans: string[] = [];
  for (const topic of topics) {
    const segments = new Map<SegmentId, Segment>();
    for (const { segment } of itemsOf(`s#${topic.id}`) as unknown as { segment: SegmentId }[]) {
      const found = await segmentOf(table, itemsOf, topic.id, segment);
      if (found !== undefined) segments.set(segment, found);
    }
    for (const one of segments.values()) {
      if (one.head.state === 'open') open.add(`l#${topic.id}#${one.head.segment}`);
      orphans.push(...strayIn(one));
      for (const key of neededBy(topic, one)) needed.add(key);
    }
    for (const item of itemsOf(`u#${topic.id}`)) {
      if (item['sk'] === 'swept') continue;
      const { upload, state, attempt, offset = 0 } = decodeUpload(item);
      const segment = attempt === undefined ? undefined : segments.get(attempt.segment);
      if (state === 'submitted' && segment !== undefined && offset >= segment.archive.start) needed.add(uploadObjectKey(topic.id, upload));
      else orphans.push(`upload ${upload} of ${topic.name} is ${state}`);
    }
  }
  const living = new Set<string>(topics.map(({ id }) => id));
  for (const [pk, found] of items) orphans.push(...found.flatMap((item) => strayItem(pk, item, { living, open })));
  return [...orphans, ...(await strayObjects(store, needed))];
}

async function segmentOf(
  table: MetadataTable,
  itemsOf: (pk: string) => readonly Item[],
  topic: TopicId,
  segment: SegmentId,
): Promise<Segment | undefined> {
  const [item] = itemsOf(`h#${topic}#${segment}`);
  if (item === undefined) return undefined;
  const own = itemsOf(`p#${topic}#${segment}`);
  const named = (start: string): readonly Item[] => own.filter(({ sk }) => String(sk).startsWith(start));
  return {
    archive: await readArchive({ table }, { topic, segment }, forEver),
    head: decodeHead(item),
    pages: named('p').map(decodePage),
    records: named('f').map(decodeFileRecord),
  };
}

function strayIn({ archive, head, pages, records }: Segment): string[] {
  const { segment, through } = archive;
  return [
    ...pages.filter(({ next }) => next <= through).map(({ first }) => `page ${first} of ${segment}, archived to ${through}`),
    ...pages.filter(({ first }) => first >= head.spilled).map(({ first }) => `page ${first} of ${segment}, above ${head.spilled}`),
    ...records.filter(({ first }) => first >= through).map(({ first }) => `record ${first} of ${segment}, archived to ${through}`),
  ];
}

function neededBy(topic: Topic, { archive, head, pages, records }: Segment): string[] {
  const entries: Entry[] = [...head.entries, ...pages.flatMap((page) => page.entries)];
  const kept = records.filter(({ last, file }) => last >= archive.start && file !== undefined && file.rows > 0);
  return [
    ...entries.map(({ object }) => entryObjectKey(topic.id, object)),
    ...kept.map(({ date, first, last }) => archivedFileKey(topic.name, { topic: topic.id, segment: archive.segment, date, first, last })),
  ];
}

/** Of topics that are gone heads and segments stay, so that paused writers are refused; of producers' lines, those of open segments. */
function strayItem(
  pk: string,
  item: Item,
  { living, open }: { readonly living: ReadonlySet<string>; readonly open: ReadonlySet<string> },
): string[] {
  const [kind = '', topic = ''] = pk.split('#');
  const isStray = kind === 'i' || (kind === 'l' && !open.has(pk)) || (['p', 'u'].includes(kind) && !living.has(topic));
  return isStray ? [`${pk} ${String(item['sk'])}`] : [];
}

async function strayObjects(store: Stores['store'], needed: ReadonlySet<string>): Promise<string[]> {
  const { objects } = await store.list('', { limit: PAGE_MAX }, forEver);
  const there = new Set(objects.map(({ key }) => key));
  return [
    ...[...there].filter((key) => !needed.has(key)).map((key) => `object ${key}`),
    ...[...needed].filter((key) => !there.has(key)).map((key) => `missing: ${key}`),
  ];
}

import type { Item, Key, Value } from '../../../src/ports/metadata-table.ts';
import { type Archived, checkArchiveWrite } from './stored-archive.ts';
import type { StoredMessage } from './stored-message.ts';
import type { Content } from './world.ts';

// What the table says is stored, read in the plainest way and with none of the product's code: the oracle must not share
// the mistakes that it looks for.

export type StoredLog = {
  readonly segment: string;
  /** First offset that is kept. */
  readonly start: number;
  readonly messages: readonly StoredMessage[];
  readonly fault: string | undefined;
};
export type StoredSegment = { readonly segment: string; readonly head: Item; readonly pages: readonly Item[]; readonly archived: Archived };

/** Messages of an upload for a segment. */
export type ContentsOf = (object: string, segment: string) => readonly Content[] | undefined;

/** Uploads of placed slices are called by what is in them: `name.segment=message+message.segment=…`. */
export function namedContents(object: string, segment: string): ReturnType<ContentsOf> {
  const part = object.split('.').find((piece) => piece.startsWith(`${segment}=`));
  return part
    ?.slice(segment.length + 1)
    .split('+')
    .map((message) => ({ message, count: 1 }));
}

type StoredEntry = { readonly cid: string; readonly offset: number; readonly body: Item };

/**
 * One segment's messages by its files, its pages below the spill count, then its head; and whether they cover [start, tail) exactly once.
 * Pages of what is archived may be there or not, and a file may end within an entry.
 */
export function readSegment({ segment, head, pages, archived }: StoredSegment, objects: ContentsOf): StoredLog {
  const { start, through } = archived;
  const messages: StoredMessage[] = [...archived.messages];
  const found = (fault: string | undefined): StoredLog => ({ segment, start, messages, fault });
  if (archived.fault !== undefined) return found(archived.fault);
  const tail = Number(head['tail']);
  const spilled = Number(head['h']);
  // Readers ask nobody else for what a head has.
  if (through > spilled) return found(`unsettled: ${segment} was archived to ${through}, its head begins at ${spilled}`);
  const settled = pages.filter((page) => Number(page['first']) < spilled).flatMap(entriesOfPage);
  const taken = new Set<string>();
  let next = through;
  for (const { cid, offset, body } of [...settled, ...entriesOfHead(head)]) {
    const stored = messagesOf({ cid, offset, body }, segment, objects);
    if (typeof stored === 'string') return found(stored);
    // A late page may come back below what was archived, and end behind that: what it says is true, and stands in the next one as well.
    if (stored.end <= through || taken.has(`${cid}@${offset}`)) continue;
    if (offset > next || (offset < next && next !== through)) return found(`index-hole: ${segment} has ${offset} where ${next} comes next`);
    taken.add(`${cid}@${offset}`);
    messages.push(...stored.messages.filter((message) => message.offset >= through));
    next = stored.end;
  }
  return found(next === tail ? undefined : `index-hole: ${segment} ends at ${next}, its tail is ${tail}`);
}

function entriesOfPage(page: Item): StoredEntry[] {
  return (page['entries'] as readonly Item[]).map((body) => ({ cid: String(body['i']), offset: Number(body['c']), body }));
}

function entriesOfHead(head: Item): StoredEntry[] {
  const bodies = head['m'] as Item;
  return Object.entries(head['c'] as Item)
    .map(([cid, offset]) => ({ cid, offset: Number(offset), body: bodies[cid] as Item }))
    .toSorted((a, b) => a.offset - b.offset);
}

function messagesOf(
  entry: StoredEntry,
  segment: string,
  objects: ContentsOf,
): { readonly messages: readonly StoredMessage[]; readonly end: number } | string {
  const object = String(entry.body['o']).split('/')[1] ?? '';
  const contents = objects(object, segment);
  if (contents === undefined) return `index-damaged: ${segment} names the unknown object ${object}`;
  const mask = entry.body['k'];
  const messages: StoredMessage[] = [];
  let offset = entry.offset;
  for (const [member, { message, count }] of contents.entries()) {
    if (!isIn(mask, member)) continue;
    messages.push({ message, segment, offset, object });
    offset += count;
  }
  const counted = (entry.body['r'] as readonly number[]).reduce((sum, value, index) => (index % 3 === 2 ? sum + value : sum), 0);
  if (counted !== offset - entry.offset) return `index-damaged: ${entry.cid} has ${counted} messages in its runs, its mask says otherwise`;
  return { messages, end: offset };
}

function isIn(mask: Value | undefined, member: number): boolean {
  if (!(mask instanceof Uint8Array)) return true;
  return ((mask[member >> 3] ?? 0) & (1 << (member & 7))) !== 0;
}

/** What never may happen in one write, whatever came before it. */
export function checkWrite(key: Key, before: Item | undefined, after: Item | undefined): string | undefined {
  if (key.pk.startsWith('p#') && before !== undefined) {
    if (!key.sk.startsWith('p')) return checkArchiveWrite(key, before, after);
    return after === undefined ? undefined : `page-changed: ${key.pk} ${key.sk}`;
  }
  if (key.pk.startsWith('u#') && before !== undefined) return checkUpload(before, after);
  if (key.sk !== 'head' || before === undefined) return undefined;
  if (after === undefined) return `head-deleted: ${key.pk}`;
  if (Number(after['tail']) < Number(before['tail'])) return `tail-back: ${before['tail']} → ${after['tail']}`;
  if (String(after['g']) < String(before['g'])) return `guard-back: ${before['g']} → ${after['g']}`;
  if (String(after['f']) < String(before['f'])) return `floor-back: ${before['f']} → ${after['f']}`;
  if (before['state'] === 'sealed' && (after['state'] !== 'sealed' || after['tail'] !== before['tail'])) return `sealed-changed: ${key.pk}`;
  const served = before['brokers'] as readonly string[];
  if (served.length > 0 && served.join() !== (after['brokers'] as readonly string[]).join())
    return `brokers-changed: ${key.pk} had ${served.join()}`;
  if (before['state'] === 'open' && after['state'] === 'pending') return `sealed-changed: ${key.pk} is pending again`;
  return undefined;
}

/** Each write raises the version; what was submitted stays where it is, and what is expired does not come back. */
function checkUpload(before: Item, after: Item | undefined): string | undefined {
  const state = String(before['state']);
  if (after === undefined) return state === 'expired' ? undefined : `upload-changed: it is ${state}, and deleted`;
  if (Number(after['version']) !== Number(before['version']) + 1) return `upload-changed: ${before['version']} → ${after['version']}`;
  if (state === 'expired') return `upload-changed: it is expired, and ${String(after['state'])} again`;
  if (state !== 'submitted' || (after['state'] === state && after['offset'] === before['offset'])) return undefined;
  return `upload-changed: it was submitted at ${before['offset']}, and is ${String(after['state'])} now`;
}

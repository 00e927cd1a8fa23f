import { type ArchivedGroup, decodeFooter, type FileFooter, footerBytes, tailRange } from '../../src/format/archived-file/read-footer.ts';
import { readGroup } from '../../src/format/archived-file/read-group.ts';
import { writeFile } from '../../src/archive/files/write-file.ts';
import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import { type ArchivedFile, type ArchivedMessage, dateOf } from '../../src/model/archived-file.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { type Bytes, type Message, KIND_HEADER } from '../../src/model/message.ts';

export const compression = createFileCompression();
/** 26 October 2026, 00:30 UTC: half past two in Berlin. */
export const SOME_TIME_MS = Date.UTC(2026, 9, 26, 0, 30);
const TOPIC = 'tabcdefghijklmno' as TopicId;

/** Messages as they are archived, from that offset on, all committed at the same time. */
export function archived(messages: readonly Message[], first = 0, committedMs = SOME_TIME_MS): ArchivedMessage[] {
  return messages.map((message, index) => ({ ...message, offset: first + index, partition: (index * 7_919) % 65_536, committedMs }));
}

/** The file that these messages make. */
export function fileOf(messages: readonly ArchivedMessage[], segment = segmentId(0)): ArchivedFile {
  const first = messages[0]?.offset ?? 0;
  return { topic: TOPIC, segment, date: dateOf(messages[0]?.committedMs ?? 0), first, last: messages.at(-1)?.offset ?? first };
}

async function* inPieces<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/** The whole file. */
export async function write(messages: readonly ArchivedMessage[], pieceSize = 1_000, file = fileOf(messages)): Promise<Bytes> {
  const pieces: Bytes[] = [];
  for await (const piece of writeFile(compression, file, inPieces(messages, pieceSize))) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** As one that has only the object reads its footer: the end, and once more if that was not enough. */
export function openFile(object: Bytes, known?: number): FileFooter {
  const read = ({ start, length }: { start: number; length: number }): Bytes => object.subarray(start, start + length);
  const tail = read(tailRange(object.length, known));
  const needed = footerBytes(tail);
  return decodeFooter(needed <= tail.length ? tail : read(tailRange(object.length, needed)), object.length);
}

export async function readAll(object: Bytes, footer = openFile(object)): Promise<ArchivedMessage[]> {
  const messages: ArchivedMessage[] = [];
  for (const group of footer.groups) messages.push(...(await readRows(object, group)));
  return messages;
}

export async function readRows(object: Bytes, group: ArchivedGroup): Promise<ArchivedMessage[]> {
  const rows = await readGroup(compression.decompress, { group, bytes: bytesOf(object, group) });
  return Array.from({ length: rows.count }, (_, row) => rows.messageAt(row));
}

const bytesOf = (object: Bytes, { range }: ArchivedGroup): Bytes => object.subarray(range.start, range.start + range.length);

/** A JSON message of about that size, as a client's `json` value is stored. */
export function jsonMessage(number: number, valueBytes: number): Message {
  const text = JSON.stringify({ number, origin: 'SEA', delay: (number * 31) % 240, note: '' });
  const value = text.replace('""', JSON.stringify('ab'.repeat(Math.max(0, Math.ceil((valueBytes - text.length) / 2)))));
  const headers = [{ name: KIND_HEADER, value: Buffer.from('json') }];
  return { key: Buffer.from(`flight-${number % 5_000}`), value: Buffer.from(value), headers, timestampMs: SOME_TIME_MS + number };
}

import { crc32c } from '#crc32c';
import type { ArchivedFile, UtcDate } from '../../model/archived-file.ts';
import { isSegmentId, isTopicId, type SegmentId, type TopicId } from '../../model/ids.ts';
import type { Bytes } from '../../model/message.ts';
import { encodeUtf8 } from '../utf8.ts';
import { damagedFile } from './damaged-file.ts';

const FILE_VERSION = 1;
const DIGITS = 8;
const NO_CHECKSUM = '0'.repeat(DIGITS);
/** Length of the metadata, and the mark at the end. */
export const FOOTER_FRAME_BYTES = 8;
/** How the last entry stands in the footer: its key, then a field of type 'binary' with the length of the digits. */
const CHECKSUM_FIELD = new Uint8Array([...encodeUtf8('kelp_checksum'), 0x18, DIGITS]);

/** `misfits`: messages that the topic's schema does not fit. `checksums`: one for each row group, in hexadecimal digits. */
type FileSummary = { readonly misfits: number; readonly checksums: readonly string[] };
type Entry = { readonly key: string; readonly value?: string };

export const toHex = (checksum: number): string => (checksum >>> 0).toString(16).padStart(DIGITS, '0');

/** The footer's key-value metadata, with zeros where {@link signFooter} puts the footer's own checksum. */
export function fileMetadata(file: ArchivedFile, { misfits, checksums }: FileSummary): { key: string; value: string }[] {
  return [
    { key: 'kelp_version', value: String(FILE_VERSION) },
    { key: 'kelp_topic', value: file.topic },
    { key: 'kelp_segment', value: file.segment },
    { key: 'kelp_date', value: file.date },
    { key: 'kelp_first', value: String(file.first) },
    { key: 'kelp_last', value: String(file.last) },
    { key: 'kelp_misfits', value: String(misfits) },
    { key: 'kelp_checksums', value: checksums.join('') },
    { key: 'kelp_checksum', value: NO_CHECKSUM },
  ];
}

/** The same footer with its checksum in place. */
export function signFooter(footer: Bytes): Bytes {
  const signed = new Uint8Array(footer);
  signed.set(encodeUtf8(toHex(footerChecksum(footer))), digitsAt(footer));
  return signed;
}

/** Error `corrupt` where the footer (from its first byte to the mark at the end) is not as it was written. */
export function checkFooter(footer: Bytes): void {
  const at = digitsAt(footer);
  const blank = new Uint8Array(footer);
  blank.set(encodeUtf8(NO_CHECKSUM), at);
  const stored = Buffer.from(footer.subarray(at, at + DIGITS)).toString('latin1');
  if (stored !== toHex(footerChecksum(blank))) throw damagedFile('its footer has another checksum');
}

const footerChecksum = (footer: Bytes): number => crc32c(footer.subarray(0, footer.length - FOOTER_FRAME_BYTES));

function digitsAt(footer: Bytes): number {
  const at = Buffer.from(footer.buffer, footer.byteOffset, footer.length).lastIndexOf(CHECKSUM_FIELD);
  if (at < 0) throw damagedFile('its footer has no checksum');
  return at + CHECKSUM_FIELD.length;
}

/** Error `corrupt`: not the entries of {@link fileMetadata}, or of a newer program. */
export function parseMetadata(entries: readonly Entry[]): FileSummary & { readonly file: ArchivedFile } {
  const values = new Map(entries.map(({ key, value }) => [key, value ?? '']));
  const text = (key: string): string => values.get(key) ?? '';
  const version = integer(text('kelp_version'));
  if (version > FILE_VERSION) throw damagedFile(`its version ${version} is newer than this program (${FILE_VERSION})`);
  const file = {
    topic: text('kelp_topic') as TopicId,
    segment: text('kelp_segment') as SegmentId,
    date: text('kelp_date') as UtcDate,
    first: integer(text('kelp_first')),
    last: integer(text('kelp_last')),
  };
  if (!isTopicId(file.topic) || !isSegmentId(file.segment)) throw damagedFile('its footer names no segment');
  return { file, misfits: integer(text('kelp_misfits')), checksums: text('kelp_checksums').match(/.{8}/g) ?? [] };
}

function integer(text: string): number {
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text))) throw damagedFile('its footer lacks a number');
  return Number(text);
}

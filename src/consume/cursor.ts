import { invalid, KelpError } from '../model/errors.ts';
import { segmentId, segmentNumber, type TopicId } from '../model/ids.ts';
import { PARTITIONS } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Position } from './lineage.ts';

// A cursor: version, topic id, first segment number of the topic's life, the two turns, then the positions in order of their
// ranges, as varints; behind it the tag over the topic's name and all of that. As text, base64url.

const VERSION = 1;
const TOPIC_ID_BYTES = 16;
const TAG_BYTES = 32;
const TEXT = /^[A-Za-z0-9_-]+$/;
const utf8 = new TextEncoder();

/** Where a reader of a whole topic is. Turns are partitions: where the next read begins to read, and to look for news. */
export type CursorState = { readonly positions: readonly Position[]; readonly readTurn: number; readonly probeTurn: number };

export async function encodeCursor(topic: Topic, state: CursorState, authenticator: Authenticator): Promise<string> {
  const bytes: number[] = [VERSION, ...utf8.encode(topic.id)];
  for (const value of [topic.firstSegment, state.readTurn, state.probeTurn]) pushVarint(bytes, value);
  for (const { lo, hi, segment, offset, finished } of state.positions) {
    pushVarint(bytes, (hi - lo + 1) * 2 + Number(finished));
    pushVarint(bytes, segment === '' ? 0 : segmentNumber(segment) + 1);
    pushVarint(bytes, offset);
  }
  const payload = Uint8Array.from(bytes);
  const tag = await authenticator.tag(signedBytes(topic, payload));
  return toText(payload, tag);
}

/**
 * Errors: `invalid-cursor` (forged, damaged, of another topic), `topic-replaced` (of a former life of the name),
 * `topic-not-found` (of a later life: `topic` is an old answer).
 */
export async function decodeCursor(topic: Topic, text: string, authenticator: Authenticator): Promise<CursorState> {
  const bytes = fromText(text);
  const payload = bytes.subarray(0, -TAG_BYTES);
  const tag = bytes.subarray(-TAG_BYTES);
  // Nothing of it is believed before this. Compared as text, too: spare bits of the last character are nobody's.
  if (payload.length <= TOPIC_ID_BYTES || toText(payload, tag) !== text) throw badCursor();
  if (!(await authenticator.verify(signedBytes(topic, payload), tag))) throw badCursor();
  return decodePayload(topic, payload);
}

/** The name goes into the tag and not into the cursor: a cursor of another topic does not verify. */
function signedBytes(topic: Topic, payload: Bytes): Bytes {
  const name = utf8.encode(`kelp cursor\0${topic.tenant}\0${topic.name}\0`);
  const bytes = new Uint8Array(name.length + payload.length);
  bytes.set(name);
  bytes.set(payload, name.length);
  return bytes;
}

function decodePayload(topic: Topic, payload: Bytes): CursorState {
  if (payload[0] !== VERSION) throw badCursor();
  const id = new TextDecoder().decode(payload.subarray(1, 1 + TOPIC_ID_BYTES)) as TopicId;
  const reader = { bytes: payload, at: 1 + TOPIC_ID_BYTES };
  checkLife(topic, id, readVarint(reader));
  const readTurn = readVarint(reader);
  const probeTurn = readVarint(reader);
  const positions: Position[] = [];
  let lo = 0;
  while (reader.at < payload.length) {
    const size = readVarint(reader);
    const number = readVarint(reader);
    const hi = lo + Math.floor(size / 2) - 1;
    const segment = number === 0 ? '' : segmentId(number - 1);
    positions.push({ lo, hi, segment, offset: readVarint(reader), finished: size % 2 === 1 });
    lo = hi + 1;
  }
  if (lo !== PARTITIONS) throw badCursor();
  return { positions, readTurn, probeTurn };
}

function checkLife(topic: Topic, id: TopicId, firstSegment: number): void {
  if (id === topic.id) return;
  // Each life of a name begins at a higher segment number.
  if (firstSegment > topic.firstSegment) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted, and made again');
  throw new KelpError('not-found', 'topic-replaced', 'the cursor belongs to a topic that had this name before', { field: 'cursor' });
}

const badCursor = (): KelpError => invalid('invalid-cursor', 'cursor', 'not a cursor of this topic');

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
}

function readVarint(reader: { readonly bytes: Bytes; at: number }): number {
  let value = 0;
  for (let scale = 1; scale <= Number.MAX_SAFE_INTEGER; scale *= 0x80) {
    const byte = reader.bytes[reader.at];
    if (byte === undefined) throw badCursor();
    reader.at += 1;
    value += (byte % 0x80) * scale;
    if (byte < 0x80) return value;
  }
  throw badCursor();
}

function toText(payload: Bytes, tag: Bytes): string {
  let binary = '';
  for (const byte of payload) binary += String.fromCodePoint(byte);
  for (const byte of tag) binary += String.fromCodePoint(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromText(text: string): Bytes {
  if (!TEXT.test(text) || text.length % 4 === 1) throw badCursor();
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.codePointAt(0) ?? 0);
}

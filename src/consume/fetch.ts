import { invalid, KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { READ_ATTEMPTS_MAX, WAIT_MS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { startBeyond } from './archived-messages.ts';
import type { BatchSpan, ReadBounds, ReadFrom, SegmentPage } from './page.ts';
import { type ReadDeps, readFrom, type SegmentRead } from './read-from.ts';
import { freshHead, headAt, ofLiving } from './read-head.ts';

export type SegmentWanted = { readonly segment: SegmentId; readonly from: ReadFrom } & ReadBounds;
type Place = { readonly head: Head; readonly offset: number };

/** One page of a segment: find the place, wait there if it is the tail, read. */
export async function readSegment<S extends BatchSpan>(
  deps: ReadDeps<S>,
  topic: Topic,
  wanted: SegmentWanted,
  signal: AbortSignal,
): Promise<SegmentPage<S>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readPage(deps, topic, wanted, signal);
    } catch (error) {
      // Who asks for an offset is told. Any other place was found by what is cut off by now.
      const isTold = typeof wanted.from === 'object' && 'offset' in wanted.from;
      if (isTold || startBeyond(error) === undefined || attempt === READ_ATTEMPTS_MAX) throw error;
    }
  }
}

async function readPage<S extends BatchSpan>(
  deps: ReadDeps<S>,
  topic: Topic,
  wanted: SegmentWanted,
  signal: AbortSignal,
): Promise<SegmentPage<S>> {
  const place = await findPlace(deps, topic, wanted, signal);
  checkPlace(place);
  const { offset } = place;
  const head = await awaitMessage(deps, topic, place, { waitMs: wanted.waitMs, signal });
  if (offset === head.tail) return pageOf({ head, slices: [], next: offset, unchecked: false }, offset);
  const room = { messages: wanted.messagesMax, bytes: wanted.bytesMax, batches: wanted.batchesMax ?? Infinity };
  const read = await readFrom(deps, topic, { head, from: offset, room, whole: wanted.wholeBatches === true }, signal);
  return pageOf(read, offset);
}

/** Where a read from that time on begins. */
export async function offsetAt(
  deps: ReadDeps<BatchSpan>,
  topic: Topic,
  { segment, timestampMs }: { readonly segment: SegmentId; readonly timestampMs: number },
  signal: AbortSignal,
): Promise<number> {
  const { offset } = await findPlace(deps, topic, { segment, from: { timestampMs } }, signal);
  return offset;
}

/** A timestamp and `latest` are resolved once, here: while the read waits, its place stays. */
async function findPlace(
  deps: ReadDeps<BatchSpan>,
  topic: Topic,
  { segment, from }: { readonly segment: SegmentId; readonly from: ReadFrom },
  signal: AbortSignal,
): Promise<Place> {
  if (from === 'earliest') {
    const offset = await deps.archived.startOf(await headAt(deps, topic, { segment, offset: 0 }, signal), signal);
    return { head: await headAt(deps, topic, { segment, offset }, signal), offset };
  }
  if (typeof from === 'object' && 'offset' in from) {
    return { head: await headAt(deps, topic, { segment, offset: checkOffset(from.offset) }, signal), offset: from.offset };
  }
  const head = await freshHead(deps, topic, segment, signal);
  if (from === 'latest') return { head, offset: head.tail };
  const start = await deps.archived.startOf(head, signal);
  return { head, offset: await deps.findTimestamp(topic, { head, start, timestampMs: from.timestampMs }, signal) };
}

function checkOffset(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw invalid('invalid-offset', 'offset', 'an offset is an integer from 0 to 2^53 - 1');
  return offset;
}

function checkPlace({ head, offset }: Place): void {
  if (offset <= head.tail) return;
  const extra = { tail: head.tail };
  throw new KelpError('invalid', 'beyond-tail', `offset ${offset} is beyond the tail ${head.tail}`, { field: 'offset', extra });
}

async function awaitMessage(
  deps: ReadDeps<BatchSpan>,
  topic: Topic,
  { head, offset }: Place,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<Head> {
  if (offset < head.tail || head.state === 'sealed' || waitMs <= 0) return head;
  const isNews = (newer: Head): boolean => newer.tail > offset || newer.state === 'sealed';
  const news = await deps.tail.wait([{ topic: topic.id, segment: head.segment, isNews }], Math.min(waitMs, WAIT_MS_MAX), signal);
  return news === undefined ? head : ofLiving(news);
}

function pageOf<S extends BatchSpan>({ head, slices, next, unchecked }: SegmentRead<S>, offset: number): SegmentPage<S> {
  const { tail, successors } = head;
  return { slices, offset, nextOffset: next, tail, sealed: head.state === 'sealed', successors, unchecked };
}

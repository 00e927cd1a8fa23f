import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { READ_SEGMENTS_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readSegmentRecords } from '../state/segment-records.ts';
import { BEGINNING, newestPositions, openNext, type Position, replace, type SegmentFacts } from './lineage.ts';
import type { BatchSpan } from './page.ts';
import type { ReadDeps } from './read-from.ts';
import { ofLiving } from './read-head.ts';

type Place = Pick<Position, 'offset' | 'finished'>;
/** Where in a segment that opens reading begins; undefined: at its start. */
type PlaceIn = (segment: SegmentId, start: number) => Promise<Place>;

/** Opens all segments that may be read by now; see {@link openNext}. */
export async function openSegments(
  deps: ReadDeps<BatchSpan>,
  topic: Topic,
  { positions, placeIn }: { readonly positions: readonly Position[]; readonly placeIn?: PlaceIn },
  signal: AbortSignal,
): Promise<readonly Position[]> {
  const finished = positions.filter((position) => position.finished).map((position) => position.segment);
  if (finished.length === 0) return positions;
  const after = finished.reduce((oldest, segment) => (segment < oldest ? segment : oldest));
  const records = await readSegmentRecords(deps.table, { topic: topic.id, after }, signal);
  const facts = new Map<SegmentId, SegmentFacts>();
  let current = positions;
  // Bounded: each turn learns of a segment or opens one, and each segment's turn comes once.
  for (;;) {
    const opening = openNext(current, records, (segment) => facts.get(segment));
    current = opening.positions;
    if (placeIn !== undefined) current = await place(current, opening.opened, placeIn);
    const goesOn = opening.unknown.length > 0 || (placeIn !== undefined && opening.opened.length > 0);
    if (!goesOn) return current;
    const learnt = await inParallel(opening.unknown, READ_SEGMENTS_PARALLEL_MAX, (segment) => readFacts(deps, topic, segment, signal));
    opening.unknown.forEach((segment, index) => facts.set(segment, learnt[index] ?? 'absent'));
  }
}

/** A seal is for ever, so a known one is enough; anything else must be asked, or an old answer would stand in the way. */
async function readFacts(deps: ReadDeps<BatchSpan>, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<SegmentFacts> {
  const known = deps.heads.known(topic.id, segment);
  const head = known?.state === 'sealed' ? known : await deps.heads.read(topic.id, segment, signal);
  if (head === undefined) return 'absent';
  return { sealed: ofLiving(head).state === 'sealed', start: await deps.archived.startOf(head, signal), tail: head.tail };
}

async function place(positions: readonly Position[], opened: readonly SegmentId[], placeIn: PlaceIn): Promise<readonly Position[]> {
  const ours = positions.filter((position) => position.segment !== '' && opened.includes(position.segment));
  const places = await inParallel(ours, READ_SEGMENTS_PARALLEL_MAX, (position) => placeIn(position.segment as SegmentId, position.offset));
  return ours.reduce((all, position, index) => replace(all, { ...position, ...places[index] }), positions);
}

/**
 * The positions from which a reader sees everything from the first message of each range on that has this timestamp or a
 * later one. Segments that hold none are passed over, to their successors.
 */
export async function positionsAtTimestamp(
  deps: ReadDeps<BatchSpan>,
  topic: Topic,
  timestampMs: number,
  signal: AbortSignal,
): Promise<readonly Position[]> {
  return openSegments(
    deps,
    topic,
    {
      positions: BEGINNING,
      async placeIn(segment, start) {
        const head = await deps.heads.read(topic.id, segment, signal);
        if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `segment ${segment} is gone`);
        const offset = await deps.findTimestamp(topic, { head: ofLiving(head), start, timestampMs }, signal);
        return { offset, finished: head.state === 'sealed' && offset === head.tail };
      },
    },
    signal,
  );
}

/** C2: from strong reads that begin after the call, or what is long there would appear as new. */
export async function positionsAtTail(deps: ReadDeps<BatchSpan>, topic: Topic, signal: AbortSignal): Promise<readonly Position[]> {
  const records = await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal);
  const heads = new Map<SegmentId, Head | 'absent'>();
  for (;;) {
    const newest = newestPositions(records, (segment) => {
      const head = heads.get(segment);
      return head === undefined || head === 'absent'
        ? head
        : { pending: head.state === 'pending', sealed: head.state === 'sealed', tail: head.tail };
    });
    if (newest.unknown.length === 0) return checkWhole(newest.positions);
    const read = await inParallel(newest.unknown, READ_SEGMENTS_PARALLEL_MAX, (segment) => deps.heads.read(topic.id, segment, signal));
    newest.unknown.forEach((segment, index) => {
      const head = read[index];
      heads.set(segment, head === undefined ? 'absent' : ofLiving(head));
    });
  }
}

function checkWhole(positions: readonly Position[]): readonly Position[] {
  if (positions.every((position) => position.segment !== '')) return positions;
  throw new KelpError('unavailable', 'unavailable', 'the segments of the topic are being made', { retryAfterMs: 1_000 });
}

import type { BatchPlace } from '../consume/page.ts';
import type { SegmentId } from '../model/ids.ts';
import { REFERENCE_MS } from '../model/upload-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Presigner } from '../ports/presigner.ts';
import { answer } from './answer.ts';
import { REFERENCES_MEDIA } from './media-type.ts';
import { signedUntil } from './signed-until.ts';

type Deps = { readonly presigner: Presigner; readonly clock: Clock };

/** Whole batches of one segment, one behind the other in one object, their offsets without a gap. */
export type Stretch = {
  readonly segment: SegmentId;
  readonly object: string;
  readonly start: number;
  bytes: number;
  /** Offsets that belong to the page: `from` to `to` − 1. */
  readonly from: number;
  to: number;
  readonly batches: BatchPlace[];
};

/** Where the batches lie, and what stands beside that. URLs end, so nobody may keep the answer. */
export function referencesAnswer(deps: Deps, places: readonly BatchPlace[], rest: Readonly<Record<string, unknown>>): Response {
  const expiresAt = signedUntil(deps.clock);
  const references = stretchesOf(places).map((stretch) => referenceTo(deps.presigner, stretch));
  return answer(JSON.stringify({ references, expiresAt, ...rest }), REFERENCES_MEDIA);
}

function referenceTo(presigner: Presigner, { segment, object, start, bytes, from, to, batches }: Stretch) {
  const { url, method, headers } = presigner.get(object, REFERENCE_MS, { start, bytes });
  return {
    segment,
    url,
    method,
    headers,
    bytes,
    firstOffset: from,
    count: to - from,
    batches: batches.map((batch) => ({ firstOffset: batch.baseOffset, count: batch.count, bytes: batch.bytes, crc: batch.crc })),
  };
}

/** Neighbours become one stretch: one URL, and one GET of whoever reads it. */
export function stretchesOf(places: readonly BatchPlace[]): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (const place of places) {
    const last = stretches.at(-1);
    if (last !== undefined && adjoin(last, place)) {
      last.batches.push(place);
      last.bytes += place.bytes;
      last.to = place.to;
    } else {
      const { segment, object, start, bytes, from, to } = place;
      stretches.push({ segment, object, start, bytes, from, to, batches: [place] });
    }
  }
  return stretches;
}

const adjoin = (stretch: Stretch, place: BatchPlace): boolean =>
  stretch.segment === place.segment &&
  stretch.object === place.object &&
  stretch.start + stretch.bytes === place.start &&
  stretch.to === place.from;

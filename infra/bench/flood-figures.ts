import type { Publish } from './flood-writers.ts';
import { percentile } from './percentile.ts';
import type { Segment } from './topic.ts';

/** Over how long a time a percentile is taken. */
export const WINDOW_MS = 5_000;
const STEP_MS = 1_000;
/** Relief is when publishes take no longer than before, or hardly so. */
const RELIEF_FACTOR = 1.5;
const RELIEF_MS = 50;
/** Changes that follow each other so closely are one: no publish is only beside one of them. */
const TOGETHER_MS = 1_000;

export type Span = { readonly fromMs: number; readonly toMs: number };

/** Those due from `fromMs` until before `toMs`. */
export const dueWithin = (published: readonly Publish[], { fromMs, toMs }: Span): Publish[] =>
  published.filter(({ dueMs }) => dueMs >= fromMs && dueMs < toMs);

/** From when it was due: one that waits because the one before it does counts, too. */
export const latencyOf = ({ dueMs, endedMs }: Publish): number => endedMs - dueMs;

export const p99Of = (published: readonly Publish[]): number => percentile(published.map(latencyOf), 0.99);

/** What p99 has to stay below. */
export const reliefMsMax = (calmP99Ms: number): number => Math.max(calmP99Ms * RELIEF_FACTOR, calmP99Ms + RELIEF_MS);

/** Milliseconds from the begin of the flood to the first window that is below: what comes later may have other reasons. */
export function firstBelowMs(published: readonly Publish[], { fromMs, toMs }: Span, p99MsMax: number): number | undefined {
  for (let atMs = fromMs; atMs <= toMs - WINDOW_MS; atMs += STEP_MS) {
    if (p99Of(dueWithin(published, { fromMs: atMs, toMs: atMs + WINDOW_MS })) < p99MsMax) return atMs - fromMs;
  }
  return undefined;
}

/** Milliseconds from the begin of the flood to the first moment from which each window to its end is below; undefined: there is none. */
export function reliefAfterMs(published: readonly Publish[], { fromMs, toMs }: Span, p99MsMax: number): number | undefined {
  let relief: number | undefined;
  for (let atMs = toMs - WINDOW_MS; atMs >= fromMs; atMs -= STEP_MS) {
    if (p99Of(dueWithin(published, { fromMs: atMs, toMs: atMs + WINDOW_MS })) >= p99MsMax) break;
    relief = atMs - fromMs;
  }
  return relief;
}

export type SegmentLife = Pick<Segment, 'segment' | 'openedMs' | 'endedMs'>;

/** Segments that gave way to others at about the same time. */
export type ChangeSpan = Span & { readonly openBefore: number; readonly openAfter: number };

/** From the first seal of each to the last opening of its successors, in order of time. */
export function changesOf(segments: readonly SegmentLife[]): ChangeSpan[] {
  const times = segments.flatMap(({ openedMs, endedMs }) => [openedMs ?? [], endedMs ?? []].flat()).toSorted((a, b) => a - b);
  // The first opening is the topic's creation.
  const spans: Span[] = [];
  for (const atMs of times.slice(segments.filter(({ openedMs }) => openedMs === times[0]).length)) {
    const last = spans.at(-1);
    if (last !== undefined && atMs - last.toMs < TOGETHER_MS) spans[spans.length - 1] = { ...last, toMs: atMs };
    else spans.push({ fromMs: atMs, toMs: atMs });
  }
  return spans.map((span) => ({ ...span, openBefore: openAt(segments, span.fromMs - 1), openAfter: openAt(segments, span.toMs + 1) }));
}

export function openAt(segments: readonly SegmentLife[], atMs: number): number {
  return segments.filter(({ openedMs = Infinity, endedMs = Infinity }) => openedMs <= atMs && atMs < endedMs).length;
}

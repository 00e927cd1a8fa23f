import type { Load } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { LOAD_BUCKETS } from '../model/limits.ts';
import { LOAD_WINDOWS_MS } from '../model/scaling-limits.ts';
import type { HotKey, Rates } from '../model/scaling.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, checkVersion, integerField, listField, stringField, wordField } from './item-fields.ts';
import { type FloatBits, floatsField, packFloats } from './packed-floats.ts';

const LOAD_MEMORY_VERSION = 1;
/** Segments of one item: it stays under 60 KB, and few of them hold a topic. */
export const LOAD_MEMORY_SEGMENTS_MAX = 128;

const SECOND_MS = 1_000;
const ORIGINS = ['split', 'merge', 'other'] as const;
const TIMES = 3;
const RATES = 3;
const COUNTERS = RATES + LOAD_BUCKETS;
/** Of one average: its weight, and what fades with it. */
const AVERAGE = 1 + RATES + LOAD_BUCKETS;
/** Counters and times are kept as they are, since differences count; what follows from them needs no more than this. */
const ROUNDED: FloatBits = 32;
const EXACT: FloatBits = 64;

/** Milliseconds by the wall clock; rates are rounded to 32 bits. */
export type RememberedWindows = {
  readonly bornMs: number;
  readonly sinceMs: number;
  readonly sample: { readonly atMs: number; readonly load: Load };
  readonly latest: Rates;
  /** One for each of LOAD_WINDOWS_MS. */
  readonly averages: readonly { readonly weight: number; readonly rates: Rates; readonly buckets: readonly number[] }[];
};

export type RememberedOrigin = { readonly cameBy: (typeof ORIGINS)[number]; readonly parentCommits?: number };

/** Of one segment: either is absent where it is not known. */
export type RememberedSegment = {
  readonly segment: SegmentId;
  readonly windows?: RememberedWindows;
  readonly origin?: RememberedOrigin;
};

/** A part of what is known of a topic's loads. */
export type LoadMemory = {
  readonly version: number;
  readonly segments: readonly RememberedSegment[];
  readonly hotKeys: readonly HotKey[];
  readonly throttling?: { readonly load: number; readonly atMs: number };
};

/** `expiresMs`: when it may be tidied away. */
export function encodeLoadMemory({ version, segments, hotKeys, throttling }: LoadMemory, expiresMs: number): Item {
  return {
    v: LOAD_MEMORY_VERSION,
    tenant: TENANT_DEFAULT,
    version,
    segments: segments.map(encodeSegment),
    hot: hotKeys.map(({ segment, lo, hi, share, load }) => ({ s: segment, lo, hi, x: packFloats([share, load], EXACT) })),
    ...(throttling === undefined ? {} : { throttled: packFloats([throttling.load, throttling.atMs], EXACT) }),
    ttl: Math.ceil(expiresMs / SECOND_MS),
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeLoadMemory(item: Item): LoadMemory {
  checkVersion(item, LOAD_MEMORY_VERSION);
  return {
    version: integerField(item, 'version'),
    segments: listField(item, 'segments').map(decodeSegment),
    hotKeys: listField(item, 'hot').map(decodeHotKey),
    ...(item['throttled'] === undefined ? {} : { throttling: decodeThrottling(item) }),
  };
}

function encodeSegment({ segment, windows, origin }: RememberedSegment): Item {
  return { s: segment, ...(windows === undefined ? {} : encodeWindows(windows)), ...(origin === undefined ? {} : encodeOrigin(origin)) };
}

function decodeSegment(value: Value): RememberedSegment {
  const item = asItem(value, 'segments');
  const hasWindows = ['t', 'n', 'r'].some((name) => item[name] !== undefined);
  return {
    segment: stringField(item, 's') as SegmentId,
    ...(hasWindows ? { windows: decodeWindows(item) } : {}),
    ...(item['by'] === undefined && item['p'] === undefined ? {} : { origin: decodeOrigin(item) }),
  };
}

function encodeWindows({ bornMs, sinceMs, sample, latest, averages }: RememberedWindows): Item {
  const { atMs, load } = sample;
  const faded = averages.flatMap(({ weight, rates, buckets }) => [weight, ...listRates(rates), ...buckets]);
  return {
    t: packFloats([bornMs, sinceMs, atMs], EXACT),
    n: packFloats([...listRates(load), ...load.buckets], EXACT),
    r: packFloats([...listRates(latest), ...faded], ROUNDED),
  };
}

function decodeWindows(item: Item): RememberedWindows {
  const [bornMs = 0, sinceMs = 0, atMs = 0] = floatsField(item, 't', { bits: EXACT, count: TIMES });
  const counters = floatsField(item, 'n', { bits: EXACT, count: COUNTERS });
  const rates = floatsField(item, 'r', { bits: ROUNDED, count: RATES + LOAD_WINDOWS_MS.length * AVERAGE });
  return {
    bornMs,
    sinceMs,
    sample: { atMs, load: { ...ratesAt(counters, 0), buckets: counters.slice(RATES) } },
    latest: ratesAt(rates, 0),
    averages: LOAD_WINDOWS_MS.map((_, window) => {
      const at = RATES + window * AVERAGE;
      return { weight: rates[at] ?? 0, rates: ratesAt(rates, at + 1), buckets: rates.slice(at + 1 + RATES, at + AVERAGE) };
    }),
  };
}

function encodeOrigin({ cameBy, parentCommits }: RememberedOrigin): Item {
  return { by: cameBy, ...(parentCommits === undefined ? {} : { p: packFloats([parentCommits], ROUNDED) }) };
}

function decodeOrigin(item: Item): RememberedOrigin {
  const cameBy = wordField(item, 'by', ORIGINS);
  if (item['p'] === undefined) return { cameBy };
  const [parentCommits = 0] = floatsField(item, 'p', { bits: ROUNDED, count: 1 });
  return { cameBy, parentCommits };
}

function decodeHotKey(value: Value): HotKey {
  const item = asItem(value, 'hot');
  const [share = 0, load = 0] = floatsField(item, 'x', { bits: EXACT, count: 2 });
  return { segment: stringField(item, 's') as SegmentId, lo: integerField(item, 'lo'), hi: integerField(item, 'hi'), share, load };
}

function decodeThrottling(item: Item): Required<LoadMemory>['throttling'] {
  const [load = 0, atMs = 0] = floatsField(item, 'throttled', { bits: EXACT, count: 2 });
  return { load, atMs };
}

const listRates = ({ messages, bytes, commits }: Rates): readonly number[] => [messages, bytes, commits];

function ratesAt(values: readonly number[], at: number): Rates {
  const [messages = 0, bytes = 0, commits = 0] = values.slice(at, at + RATES);
  return { messages, bytes, commits };
}

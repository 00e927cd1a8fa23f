import type { Entry, Head, Line } from '../model/head.ts';
import type { BrokerId, CommitId, Minute, SegmentId, TopicId } from '../model/ids.ts';
import { LOAD_BUCKETS } from '../model/limits.ts';
import type { SegmentRange } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { decodeEntry } from './entry.ts';
import {
  asItem,
  checkVersion,
  flagField,
  integerField,
  integersField,
  listField,
  mapField,
  stringField,
  stringsField,
  wordField,
} from './item-fields.ts';
import { decodeLine } from './line.ts';
import { decodeSegmentRange, encodeServedRange } from './segment-range.ts';

/** Version of the stored form. */
const HEAD_VERSION = 1;

const STATES = ['pending', 'open', 'sealed'] as const;

/** A head as it is born: every attribute that a commit's conditions read must exist, since a missing one fails them. */
export function encodeNewHead(head: {
  readonly topic: TopicId;
  readonly tenant: string;
  readonly range: SegmentRange;
  readonly floor: Minute | '';
  readonly predecessors: readonly SegmentId[];
}): Item {
  return {
    v: HEAD_VERSION,
    tenant: head.tenant,
    topic: head.topic,
    segment: head.range.segment,
    lo: head.range.lo,
    hi: head.range.hi,
    state: 'pending',
    tail: 0,
    h: 0,
    ht: -1,
    g: '',
    f: head.floor,
    c: {},
    m: {},
    p: {},
    ev: 0,
    messages: 0,
    bytes: 0,
    commits: 0,
    hist: Array.from({ length: LOAD_BUCKETS }, () => 0),
    brokers: head.range.brokers ?? [],
    predecessors: head.predecessors,
    successors: [],
  };
}

export function encodeSuccessors(successors: readonly SegmentRange[]): Item[] {
  return successors.map(encodeServedRange);
}

/** Error `corrupt` where the item is not a head as FORMAT.md describes it. */
export function decodeHead(item: Item): Head {
  checkVersion(item, HEAD_VERSION);
  return {
    topic: stringField(item, 'topic') as TopicId,
    segment: stringField(item, 'segment') as SegmentId,
    lo: integerField(item, 'lo'),
    hi: integerField(item, 'hi'),
    state: wordField(item, 'state', STATES),
    deleted: flagField(item, 'deleted'),
    tail: integerField(item, 'tail'),
    spilled: integerField(item, 'h'),
    spilledTimestampMs: integerField(item, 'ht'),
    guard: stringField(item, 'g') as CommitId | '',
    floor: stringField(item, 'f') as Minute | '',
    entries: decodeEntries(mapField(item, 'c'), mapField(item, 'm')),
    lines: decodeLines(mapField(item, 'p')),
    evictions: integerField(item, 'ev'),
    load: {
      messages: integerField(item, 'messages'),
      bytes: integerField(item, 'bytes'),
      commits: integerField(item, 'commits'),
      buckets: integersField(item, 'hist'),
    },
    // Heads of before brokers were assigned have none.
    brokers: item['brokers'] === undefined ? [] : (stringsField(item, 'brokers') as readonly BrokerId[]),
    predecessors: stringsField(item, 'predecessors') as readonly SegmentId[],
    successors: listField(item, 'successors').map(decodeSegmentRange),
    ...(item['opened'] === undefined ? {} : { openedMs: integerField(item, 'opened') }),
    ...(item['ended'] === undefined ? {} : { endedMs: integerField(item, 'ended') }),
    ...(item['change'] === undefined ? {} : { change: stringField(item, 'change') }),
  };
}

function decodeEntries(offsets: Item, bodies: Item): Entry[] {
  return Object.keys(offsets)
    .map((cid) => decodeEntry(cid as CommitId, integerField(offsets, cid), asItem(bodies[cid], 'm')))
    .toSorted((a, b) => a.offset - b.offset);
}

function decodeLines(lines: Item): Map<string, Line> {
  return new Map(Object.keys(lines).map((producer) => [producer, decodeLine(asItem(lines[producer], 'p'))]));
}

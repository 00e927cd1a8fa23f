import type { SegmentId } from '../model/ids.ts';
import type { ScaleCause, ScaleEvent } from '../model/scale-event.ts';
import type { MergeReason, SplitReason } from '../model/scaling.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, checkVersion, integerField, listField, stringsField, wordField } from './item-fields.ts';

const SCALE_HISTORY_VERSION = 1;

const KINDS = ['split', 'merge'] as const;
const CAUSES = ['hand', 'planner'] as const;
const REASONS = ['over-target', 'severe', 'throttled', 'minimum', 'quiet'] as const;
const MEASURES = ['messages', 'bytes', 'commits'] as const;

/** Stored numbers are whole: loads are stored in thousandths of the target. */
const LOAD_UNIT = 1_000;

/** The latest splits and merges of a topic, newest first. */
export type ScaleHistory = { readonly version: number; readonly events: readonly ScaleEvent[] };

export function encodeScaleHistory({ version, events }: ScaleHistory): Item {
  return { v: SCALE_HISTORY_VERSION, tenant: TENANT_DEFAULT, version, events: events.map(encodeEvent) };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeScaleHistory(item: Item): ScaleHistory {
  checkVersion(item, SCALE_HISTORY_VERSION);
  return { version: integerField(item, 'version'), events: listField(item, 'events').map(decodeEvent) };
}

function encodeEvent(event: ScaleEvent): Item {
  return {
    t: event.atMs,
    kind: event.kind,
    parents: event.parents,
    children: event.children,
    ...(event.kind === 'split' ? { at: event.at } : {}),
    by: event.by,
    ...(event.by === 'planner' ? { reason: encodeReason(event.reason) } : {}),
  };
}

function decodeEvent(value: Value): ScaleEvent {
  const item = asItem(value, 'events');
  const kind = wordField(item, 'kind', KINDS);
  const common = {
    atMs: integerField(item, 't'),
    parents: stringsField(item, 'parents') as readonly SegmentId[],
    children: stringsField(item, 'children') as readonly SegmentId[],
    ...decodeCause(item),
  };
  return kind === 'split' ? { ...common, kind, at: integerField(item, 'at') } : { ...common, kind };
}

function decodeCause(item: Item): ScaleCause {
  const by = wordField(item, 'by', CAUSES);
  return by === 'hand' ? { by } : { by, reason: decodeReason(asItem(item['reason'], 'reason')) };
}

function encodeReason(reason: SplitReason | MergeReason): Item {
  const common = { why: reason.why, load: encodeLoad(reason.load) };
  if (reason.why === 'quiet') return { ...common, max: encodeLoad(reason.loadMax), average: encodeLoad(reason.average) };
  return reason.why === 'minimum' ? { ...common, min: reason.minSegments } : { ...common, measure: reason.measure };
}

function decodeReason(item: Item): SplitReason | MergeReason {
  const why = wordField(item, 'why', REASONS);
  const load = decodeLoad(item, 'load');
  if (why === 'quiet') return { why, load, loadMax: decodeLoad(item, 'max'), average: decodeLoad(item, 'average') };
  if (why === 'minimum') return { why, load, minSegments: integerField(item, 'min') };
  return { why, load, measure: wordField(item, 'measure', MEASURES) };
}

const encodeLoad = (load: number): number => Math.round(load * LOAD_UNIT);
const decodeLoad = (item: Item, name: string): number => integerField(item, name) / LOAD_UNIT;

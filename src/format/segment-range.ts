import type { BrokerId, SegmentId } from '../model/ids.ts';
import type { SegmentRange } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, integerField, stringField, stringsField } from './item-fields.ts';

export function encodeSegmentRange(range: SegmentRange): Item {
  return { s: range.segment, lo: range.lo, hi: range.hi };
}

/** With the brokers that serve it, where they are known. */
export function encodeServedRange(range: SegmentRange): Item {
  return { ...encodeSegmentRange(range), ...(range.brokers === undefined ? {} : { b: range.brokers }) };
}

export function decodeSegmentRange(value: Value): SegmentRange {
  const item = asItem(value, 'segment range');
  return {
    segment: stringField(item, 's') as SegmentId,
    lo: integerField(item, 'lo'),
    hi: integerField(item, 'hi'),
    ...(item['b'] === undefined ? {} : { brokers: stringsField(item, 'b') as readonly BrokerId[] }),
  };
}

import { KelpError } from '../model/errors.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import { REPLICAS_DEFAULT } from '../model/limits.ts';
import type { ExpectedFlood, ScalingSettings } from '../model/scaling.ts';
import { CHANGE_KINDS, type PartitionKey, type Retention, type Topic, type TopicSchema, type TopologyChange } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, checkVersion, integerField, listField, mapField, stringField, stringsField, wordField } from './item-fields.ts';
import { decodeTypedColumn, encodeTypedColumn } from './typed-column-item.ts';
import { decodeSegmentRange, encodeSegmentRange, encodeServedRange } from './segment-range.ts';

const TOPIC_VERSION = 1;
const STATES = ['active', 'deleting', 'deleted'] as const;

export function encodeTopic(topic: Topic): Item {
  return {
    v: TOPIC_VERSION,
    tenant: topic.tenant,
    topic: topic.id,
    name: topic.name,
    partitionKey: topic.settings.partitionKey,
    segments: topic.settings.segments,
    replicas: topic.settings.replicas,
    ...(topic.settings.scaling === undefined ? {} : { scaling: encodeScaling(topic.settings.scaling) }),
    ...(topic.settings.retention === undefined ? {} : { retention: encodeRetention(topic.settings.retention) }),
    ...(topic.settings.schema === undefined ? {} : { schema: encodeSchema(topic.settings.schema) }),
    state: topic.state,
    version: topic.version,
    firstSegment: topic.firstSegment,
    nextSegment: topic.nextSegment,
    open: topic.open.map(encodeSegmentRange),
    changes: topic.changes.map(encodeChange),
    created: topic.createdMs,
  };
}

/** Error `corrupt` where the item is not a topic as FORMAT.md describes it. */
export function decodeTopic(item: Item): Topic {
  checkVersion(item, TOPIC_VERSION);
  return {
    id: stringField(item, 'topic') as TopicId,
    name: stringField(item, 'name'),
    tenant: stringField(item, 'tenant'),
    settings: {
      partitionKey: decodePartitionKey(item['partitionKey']),
      segments: integerField(item, 'segments'),
      // Topics of before brokers were assigned have none.
      replicas: item['replicas'] === undefined ? REPLICAS_DEFAULT : integerField(item, 'replicas'),
      ...(item['scaling'] === undefined ? {} : { scaling: decodeScaling(mapField(item, 'scaling')) }),
      ...(item['retention'] === undefined ? {} : { retention: decodeRetention(mapField(item, 'retention')) }),
      ...(item['schema'] === undefined ? {} : { schema: decodeSchema(mapField(item, 'schema')) }),
    },
    state: wordField(item, 'state', STATES),
    version: integerField(item, 'version'),
    firstSegment: integerField(item, 'firstSegment'),
    nextSegment: integerField(item, 'nextSegment'),
    open: listField(item, 'open').map(decodeSegmentRange),
    changes: listField(item, 'changes').map(decodeChange),
    createdMs: integerField(item, 'created'),
  };
}

function encodeChange(change: TopologyChange): Item {
  return { id: change.id, kind: change.kind, parents: change.parents, children: change.children.map(encodeServedRange) };
}

function decodeChange(value: Value): TopologyChange {
  const item = asItem(value, 'changes');
  return {
    id: stringField(item, 'id'),
    kind: wordField(item, 'kind', CHANGE_KINDS),
    parents: stringsField(item, 'parents') as readonly SegmentId[],
    children: listField(item, 'children').map(decodeSegmentRange),
  };
}

function decodePartitionKey(value: Value | undefined): PartitionKey {
  if (value === 'key') return value;
  const item = asItem(value, 'partitionKey');
  if (typeof item['header'] === 'string') return { header: item['header'] };
  if (typeof item['pointer'] === 'string') return { pointer: item['pointer'] };
  throw new KelpError('corrupt', 'corrupt', 'stored field partitionKey is damaged');
}

function encodeScaling(scaling: ScalingSettings): Item {
  return {
    min: scaling.minSegments,
    max: scaling.maxSegments,
    bytes: scaling.targetBytesPerSecond,
    messages: scaling.targetMessagesPerSecond,
    commits: scaling.targetCommitsPerSecond,
    schedule: scaling.schedule.map(encodeFlood),
  };
}

function decodeScaling(item: Item): ScalingSettings {
  return {
    minSegments: integerField(item, 'min'),
    maxSegments: integerField(item, 'max'),
    targetBytesPerSecond: integerField(item, 'bytes'),
    targetMessagesPerSecond: integerField(item, 'messages'),
    targetCommitsPerSecond: integerField(item, 'commits'),
    schedule: listField(item, 'schedule').map(decodeFlood),
  };
}

function encodeFlood({ cron, durationSeconds, minSegments, timeZone }: ExpectedFlood): Item {
  return { cron, seconds: durationSeconds, min: minSegments, ...(timeZone === undefined ? {} : { zone: timeZone }) };
}

function decodeFlood(value: Value): ExpectedFlood {
  const item = asItem(value, 'schedule');
  return {
    cron: stringField(item, 'cron'),
    durationSeconds: integerField(item, 'seconds'),
    minSegments: integerField(item, 'min'),
    ...(item['zone'] === undefined ? {} : { timeZone: stringField(item, 'zone') }),
  };
}

function encodeRetention({ maxAgeSeconds, maxBytes }: Retention): Item {
  return { ...(maxAgeSeconds === undefined ? {} : { seconds: maxAgeSeconds }), ...(maxBytes === undefined ? {} : { bytes: maxBytes }) };
}

function decodeRetention(item: Item): Retention {
  return {
    ...(item['seconds'] === undefined ? {} : { maxAgeSeconds: integerField(item, 'seconds') }),
    ...(item['bytes'] === undefined ? {} : { maxBytes: integerField(item, 'bytes') }),
  };
}

function encodeSchema({ json, columns }: TopicSchema): Item {
  return { json, columns: columns.map(encodeTypedColumn) };
}

function decodeSchema(item: Item): TopicSchema {
  return { json: stringField(item, 'json'), columns: listField(item, 'columns').map(decodeTypedColumn) };
}

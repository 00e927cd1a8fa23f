import type { BrokerLoad, BrokerRecord } from '../model/broker.ts';
import type { BrokerId, SegmentId, TopicId } from '../model/ids.ts';
import type { SegmentPressure } from '../model/segment-pressure.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { asItem, checkVersion, flagField, integerField, listField, stringField, wordField } from './item-fields.ts';

const BROKER_VERSION = 1;
const KINDS = ['process', 'fleet'] as const;

export function encodeBroker(broker: BrokerRecord): Item {
  return {
    v: BROKER_VERSION,
    tenant: TENANT_DEFAULT,
    broker: broker.id,
    url: broker.url,
    kind: broker.kind,
    zone: broker.zone,
    instance: broker.instance,
    version: broker.version,
    ...(broker.drainPerSecond === undefined ? {} : { drain: broker.drainPerSecond }),
    ...(broker.drained === undefined ? {} : { drained: broker.drained }),
    load: encodeLoad(broker.load),
    pressure: encodePressure(broker.pressure),
    started: broker.startedMs,
    heartbeat: broker.heartbeatMs,
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeBroker(item: Item): BrokerRecord {
  checkVersion(item, BROKER_VERSION);
  return {
    id: stringField(item, 'broker') as BrokerId,
    url: stringField(item, 'url'),
    kind: wordField(item, 'kind', KINDS),
    zone: stringField(item, 'zone'),
    instance: stringField(item, 'instance'),
    version: integerField(item, 'version'),
    ...(item['drain'] === undefined ? {} : { drainPerSecond: integerField(item, 'drain') }),
    ...(flagField(item, 'drained') ? { drained: true } : {}),
    load: decodeLoad(asItem(item['load'], 'load')),
    pressure: item['pressure'] === undefined ? [] : listField(item, 'pressure').map(decodePressure),
    startedMs: integerField(item, 'started'),
    heartbeatMs: integerField(item, 'heartbeat'),
  };
}

export function encodeLoad(load: BrokerLoad): Item {
  return {
    requests: load.requests,
    bytes: load.bytesPerSecond,
    messages: load.messagesPerSecond,
    commit: load.commitMs,
    delay: load.eventLoopDelayMs,
    busy: load.busyPercent,
    memory: load.memoryBytes,
  };
}

function decodeLoad(item: Item): BrokerLoad {
  return {
    requests: integerField(item, 'requests'),
    bytesPerSecond: integerField(item, 'bytes'),
    messagesPerSecond: integerField(item, 'messages'),
    commitMs: integerField(item, 'commit'),
    eventLoopDelayMs: integerField(item, 'delay'),
    busyPercent: integerField(item, 'busy'),
    memoryBytes: integerField(item, 'memory'),
  };
}

export function encodePressure(pressure: readonly SegmentPressure[]): Value {
  return pressure.map(({ topic, segment, throttledWrites, queuedMs }) => ({
    topic,
    segment,
    throttled: throttledWrites,
    queued: queuedMs,
  }));
}

function decodePressure(value: Value): SegmentPressure {
  const item = asItem(value, 'pressure');
  return {
    topic: stringField(item, 'topic') as TopicId,
    segment: stringField(item, 'segment') as SegmentId,
    throttledWrites: integerField(item, 'throttled'),
    queuedMs: integerField(item, 'queued'),
  };
}

import { isDeepStrictEqual } from 'node:util';
import { invalid } from '../model/errors.ts';
import { REPLICAS_DEFAULT } from '../model/limits.ts';
import type { ExpectedFlood, ScalingSettings } from '../model/scaling.ts';
import {
  type PartitionKey,
  type Retention,
  type RetentionChange,
  scalingOf,
  type SettingsChange,
  type SettingsWish,
  type TopicSchema,
  type TopicSettings,
} from '../model/topic.ts';

// What a wish makes of settings. Pure: whoever stores them does it on the version that they were read with.

/** Of a topic that is to be made. Error `invalid-settings`. */
export function newSettings({ partitionKey, segments, ...change }: SettingsWish): TopicSettings {
  return settingsAfter({ partitionKey, segments, replicas: REPLICAS_DEFAULT }, change);
}

/** Undefined: they say all of it already. Errors `invalid-settings`, `invalid-schema`: it doesn't go with what stays. */
export function changedSettings(settings: TopicSettings, change: SettingsChange): TopicSettings | undefined {
  const wished = settingsAfter(settings, change);
  const hasText = change.schema === undefined || change.schema.json === settings.schema?.json;
  return hasText && says(settings, change) ? undefined : wished;
}

function settingsAfter({ retention, ...others }: TopicSettings, change: SettingsChange): TopicSettings {
  const { replicas = others.replicas, scaling, schema } = change;
  const bounds = changedRetention(retention, change.retention);
  if (schema !== undefined) checkColumnsStay(others.schema, schema);
  return {
    ...others,
    replicas,
    ...(scaling === undefined ? {} : { scaling: changedScaling(scalingOf(others), scaling) }),
    ...(bounds === undefined ? {} : { retention: bounds }),
    ...(schema === undefined ? {} : { schema }),
  };
}

/** Whether a topic with these settings is what was wished for: what can be changed later counts where it was named. */
export function areWished(settings: TopicSettings, wish: SettingsWish): boolean {
  const isMadeSo = settings.segments === wish.segments && describeKey(settings.partitionKey) === describeKey(wish.partitionKey);
  return isMadeSo && says(settings, wish) && (wish.schema === undefined || meansTheSame(settings.schema, wish.schema));
}

/** Leaves out the schema, whose text may be another one that means the same. */
function says(settings: TopicSettings, { replicas, scaling, retention }: SettingsChange): boolean {
  const current = scalingOf(settings);
  const bounds = settings.retention;
  const wished = changedRetention(bounds, retention);
  return (
    (replicas === undefined || replicas === settings.replicas) &&
    sameScaling(current, { ...current, ...scaling }) &&
    bounds?.maxAgeSeconds === wished?.maxAgeSeconds &&
    bounds?.maxBytes === wished?.maxBytes
  );
}

/** Undefined: no bound is left. */
function changedRetention(current: Retention | undefined, change: RetentionChange = {}): Retention | undefined {
  const { maxAgeSeconds, maxBytes } = { ...current, ...change };
  const bounds = {
    ...(typeof maxAgeSeconds === 'number' ? { maxAgeSeconds } : {}),
    ...(typeof maxBytes === 'number' ? { maxBytes } : {}),
  };
  return Object.keys(bounds).length === 0 ? undefined : bounds;
}

/** Files have these columns already, and a reader of all of them wants one type of each. */
function checkColumnsStay(before: TopicSchema | undefined, schema: TopicSchema): void {
  for (const { property, type } of before?.columns ?? []) {
    const now = schema.columns.find((column) => column.property === property);
    if (now?.type === type) continue;
    const why = `a column of files, ${type}: others may be added, and none be changed or taken away`;
    throw invalid('invalid-schema', `schema.properties.${property}`, why);
  }
}

/** Blanks and the order of members aside. */
const meansTheSame = (a: TopicSchema | undefined, b: TopicSchema): boolean =>
  a !== undefined && isDeepStrictEqual(JSON.parse(a.json), JSON.parse(b.json));

function changedScaling(current: ScalingSettings, change: Partial<ScalingSettings>): ScalingSettings {
  const changed = { ...current, ...change };
  const { minSegments, maxSegments } = changed;
  if (minSegments <= maxSegments) return changed;
  const field = change.minSegments === undefined ? 'scaling.maxSegments' : 'scaling.minSegments';
  throw invalid('invalid-settings', field, `minSegments, ${minSegments}, would be above maxSegments, ${maxSegments}`);
}

function sameScaling(a: ScalingSettings, b: ScalingSettings): boolean {
  return (
    a.minSegments === b.minSegments &&
    a.maxSegments === b.maxSegments &&
    a.targetBytesPerSecond === b.targetBytesPerSecond &&
    a.targetMessagesPerSecond === b.targetMessagesPerSecond &&
    a.targetCommitsPerSecond === b.targetCommitsPerSecond &&
    a.schedule.length === b.schedule.length &&
    a.schedule.every((flood, index) => sameFlood(flood, b.schedule[index]))
  );
}

function sameFlood(a: ExpectedFlood, b: ExpectedFlood | undefined): boolean {
  return a.cron === b?.cron && a.durationSeconds === b.durationSeconds && a.minSegments === b.minSegments && a.timeZone === b.timeZone;
}

function describeKey(key: PartitionKey): string {
  if (key === 'key') return 'key';
  return 'header' in key ? `header ${key.header}` : `pointer ${key.pointer}`;
}

import { invalid } from '../model/errors.ts';
import { REPLICAS_DEFAULT } from '../model/limits.ts';
import { type ExpectedFlood, SCALING_DEFAULT, type ScalingSettings } from '../model/scaling.ts';
import { type PartitionKey, scalingOf, type SettingsChange, type SettingsWish, type TopicSettings } from '../model/topic.ts';

// What a wish makes of settings. Pure: whoever stores them does it on the version that they were read with.

/** Of a topic that is to be made. Error `invalid-settings`. */
export function newSettings({ partitionKey, segments, replicas = REPLICAS_DEFAULT, scaling }: SettingsWish): TopicSettings {
  const chosen = scaling === undefined ? {} : { scaling: changedScaling(SCALING_DEFAULT, scaling) };
  return { partitionKey, segments, replicas, ...chosen };
}

/** Undefined: they say all of it already. Error `invalid-settings`: it doesn't go with what stays. */
export function changedSettings(settings: TopicSettings, change: SettingsChange): TopicSettings | undefined {
  const { replicas = settings.replicas, scaling } = change;
  const chosen = scaling === undefined ? {} : { scaling: changedScaling(scalingOf(settings), scaling) };
  return says(settings, change) ? undefined : { ...settings, replicas, ...chosen };
}

/** Whether a topic with these settings is what was wished for: what can be changed later counts where it was named. */
export function areWished(settings: TopicSettings, wish: SettingsWish): boolean {
  const isMadeSo = settings.segments === wish.segments && describeKey(settings.partitionKey) === describeKey(wish.partitionKey);
  return isMadeSo && says(settings, wish);
}

function says(settings: TopicSettings, { replicas, scaling }: SettingsChange): boolean {
  const current = scalingOf(settings);
  return (replicas === undefined || replicas === settings.replicas) && sameScaling(current, { ...current, ...scaling });
}

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

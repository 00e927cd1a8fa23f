import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resourcesOf, type Template } from '../../infra/stack/template.ts';

type Alarms = (deps: { resolveVariable(name: string): Promise<unknown> }) => Promise<Template['Resources']>;
const alarms = createRequire(import.meta.url)('../../infra/stack/alarms.cjs') as Alarms;
const PLANNER = join(import.meta.dirname, '..', '..', 'src', 'control', 'scaling', 'apply-plan.ts');

/** By function, as serverless.yml has them; the settings as they are given. */
async function alarmsOf(settings: Readonly<Record<string, string>>): Promise<Template> {
  const resolveVariable = (name: string): Promise<unknown> => {
    if (name === 'self:functions')
      return Promise.resolve([
        { broker: { timeout: 29 }, sweep: { timeout: 300 }, archive: { timeout: 290 } },
        { readBuffered: { timeout: 29 } },
      ]);
    return Promise.resolve(settings[name.replace(/^param:(\w+).*$/, '$1')] ?? null);
  };
  return { Resources: await alarms({ resolveVariable }) };
}

test('the words that an alarm looks for in the log are those that the planner writes there', async () => {
  const [filter] = Object.values(resourcesOf(await alarmsOf({ entry: 'http-api' }), 'AWS::Logs::MetricFilter'));
  const words = String(filter?.['FilterPattern']).replaceAll('"', "'");
  expect(words.length).toBeGreaterThan(10);
  expect(readFileSync(PLANNER, 'utf8')).toContain(words);
});

test('each function is slow at a share of its own time, and what fails once an hour is told', async () => {
  const all = resourcesOf(await alarmsOf({ entry: 'http-api' }), 'AWS::CloudWatch::Alarm');
  expect(all['BrokerDurationAlarm']).toMatchObject({ Threshold: 23_200, Period: 60 });
  expect(all['ReadBufferedDurationAlarm']).toMatchObject({ Threshold: 23_200, Period: 60 });
  expect(all['SweepDurationAlarm']).toMatchObject({ Threshold: 240_000, Period: 3_600 });
  expect(all['ArchiveDurationAlarm']).toMatchObject({ Threshold: 232_000, Period: 300 });
  expect(all['ArchiveErrorsAlarm']).toMatchObject({ Threshold: 1, Period: 300, DatapointsToAlarm: 2 });
  expect(all['SweepErrorsAlarm']).toMatchObject({ Threshold: 1, Period: 3_600, DatapointsToAlarm: 1 });
});

test('answers are counted where they leave, and a topic is told if there is one', async () => {
  const api = resourcesOf(await alarmsOf({ entry: 'http-api' }), 'AWS::CloudWatch::Alarm');
  expect(Object.keys(api).filter((name) => /Api|Url/.test(name))).toEqual(['HttpApiErrorsAlarm', 'ReadUrlErrorsAlarm']);
  expect(Object.values(api).some((alarm) => 'AlarmActions' in alarm)).toBe(false);
  const urls = resourcesOf(await alarmsOf({ entry: 'function-urls', alarmTopic: 'arn:t' }), 'AWS::CloudWatch::Alarm');
  expect(Object.keys(urls).filter((name) => /Api|Url/.test(name))).toEqual([
    'BrokerUrlErrorsAlarm',
    'ReadUrlErrorsAlarm',
    'LeaderUrlErrorsAlarm',
  ]);
  expect(Object.values(urls).every(({ AlarmActions }) => JSON.stringify(AlarmActions) === '["arn:t"]')).toBe(true);
});

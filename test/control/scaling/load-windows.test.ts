import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addSample,
  type LoadSample,
  type LoadWindows,
  sampleSegments,
  startWindows,
  viewAt,
} from '../../../src/control/scaling/load-windows.ts';
import type { Load } from '../../../src/model/head.ts';
import { segmentId } from '../../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../../src/model/limits.ts';
import { LOAD_KNOWN_MS_MAX, LOAD_WINDOWS_MS } from '../../../src/model/scaling-limits.ts';

/** Counters after so many messages, all in one bucket. */
function counters(messages: number, bucket = 3): Load {
  const buckets = Array.from({ length: LOAD_BUCKETS }, (_, n) => (n === bucket ? messages : 0));
  return { messages, bytes: messages * 10, commits: messages / 2, buckets };
}

const sample = (atMs: number, messages: number): LoadSample => ({ atMs, load: counters(messages) });
const messageRates = (windows: LoadWindows, nowMs: number): number[] => viewAt(windows, nowMs).rates.map(({ messages }) => messages);

/** Sampled at these moments, with so many messages a second since 0. */
function steady(timesMs: readonly number[], perSecond: number): LoadWindows {
  const samples = timesMs.map((atMs) => sample(atMs, (atMs * perSecond) / 1_000));
  const [first, ...others] = samples as [LoadSample, ...LoadSample[]];
  return others.reduce(addSample, startWindows(first, 0));
}

test('a steady load is its rate in every window, however young the segment is and whichever samples are missing', () => {
  const times = fc
    .uniqueArray(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 20 })
    .map((some) => some.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 100_000 }), (timesMs, perSecond) => {
      const windows = steady(timesMs, perSecond);
      for (const rate of messageRates(windows, timesMs.at(-1) as number)) expect(rate / perSecond).toBeCloseTo(1, 9);
      expect(viewAt(windows, timesMs.at(-1) as number).latest.messages / perSecond).toBeCloseTo(1, 6);
    }),
  );
});

test('bytes and commits come along, and the histogram of each window, and of the whole life', () => {
  const windows = addSample(startWindows(sample(10_000, 1_000), 0), { atMs: 20_000, load: { ...counters(3_000, 9) } });
  const view = viewAt(windows, 20_000);
  for (const { messages, bytes, commits } of view.rates) {
    expect(bytes).toBeCloseTo(messages * 10);
    expect(commits).toBeCloseTo(messages / 2);
  }
  expect(view.buckets).toHaveLength(LOAD_WINDOWS_MS.length + 1);
  expect(view.buckets.at(-1)).toEqual(counters(3_000, 9).buckets);
});

test('silence fades by itself: nobody has to sample, and who does finds the same', () => {
  const windows = steady([5_000, 600_000], 100);
  const silent = sample(630_000, 60_000);
  const unsampled = messageRates(windows, 630_000);
  for (const [window, rate] of messageRates(addSample(windows, silent), 630_000).entries())
    expect(rate).toBeCloseTo(unsampled[window] as number, 9);
  const [short, middle, long] = unsampled as [number, number, number];
  expect(short).toBeLessThan(1);
  expect(middle).toBeGreaterThan(short);
  expect(long).toBeGreaterThan(middle);
  expect(messageRates(windows, 86_400_000)).toEqual([0, 0, 0].map(() => expect.closeTo(0)));
});

test('a flood shows in the shortest window first, and in each it is never more than it is', () => {
  let windows = steady([5_000, 600_000], 100);
  let counted = 60_000;
  for (let atMs = 605_000; atMs <= 660_000; atMs += 5_000) {
    counted += 5_000;
    windows = addSample(windows, sample(atMs, counted));
    const [short, middle, long] = messageRates(windows, atMs) as [number, number, number];
    expect(short).toBeGreaterThan(middle);
    expect(middle).toBeGreaterThan(long);
    expect(short).toBeLessThanOrEqual(1_000);
  }
  expect(messageRates(windows, 660_000)[0]).toBeGreaterThan(990);
});

test('what was seen once, by somebody who did not see it begin, has no rate yet', () => {
  const windows = startWindows(sample(50_000, 1_000_000));
  expect(viewAt(windows, 52_000)).toMatchObject({ ageMs: 2_000, observedMs: 0, sampleAgeMs: 2_000 });
  for (const nowMs of [50_000, 52_000]) expect(messageRates(windows, nowMs)).toEqual([0, 0, 0]);
  const later = addSample(windows, sample(60_000, 1_000_100));
  expect(viewAt(later, 60_000)).toMatchObject({ ageMs: 10_000, observedMs: 10_000 });
  for (const rate of messageRates(later, 60_000)) expect(rate).toBeCloseTo(10);
});

test('a late answer of an earlier moment, or one that shows less, changes nothing', () => {
  const windows = steady([5_000, 10_000], 100);
  expect(addSample(windows, sample(9_000, 5_000))).toBe(windows);
  expect(addSample(windows, sample(10_000, 9_000))).toBe(windows);
  const { load } = windows.sample;
  expect(addSample(windows, { atMs: 11_000, load: { ...load, messages: load.messages - 1 } })).toBe(windows);
  expect(addSample(windows, { atMs: 11_000, load: { ...load, commits: load.commits - 1 } })).toBe(windows);
  expect(addSample(windows, { atMs: 11_000, load })).not.toBe(windows);
});

test('of a topic, what is known of a replaced segment ends, a new one begins with its age, and a missing sample keeps what is known', () => {
  const [a, b, c] = [0, 1, 2].map(segmentId) as [ReturnType<typeof segmentId>, ReturnType<typeof segmentId>, ReturnType<typeof segmentId>];
  const first = sampleSegments(
    new Map(),
    [{ segment: a }, { segment: b }],
    new Map([
      [a, sample(0, 500)],
      [b, sample(0, 7)],
    ]),
  );
  const open = [{ segment: b }, { segment: c, bornMs: 4_000 }];
  const next = sampleSegments(
    first,
    open,
    new Map([
      [a, sample(5_000, 900)],
      [c, sample(5_000, 200)],
    ]),
  );
  expect([...next.keys()]).toEqual([b, c]);
  expect(next.get(b)).toBe(first.get(b));
  expect(viewAt(next.get(c) as LoadWindows, 5_000)).toMatchObject({ ageMs: 1_000, observedMs: 1_000 });
  expect(messageRates(next.get(c) as LoadWindows, 5_000)[2]).toBeCloseTo(200);
  expect(sampleSegments(first, [{ segment: c }], new Map())).toEqual(new Map());
});

test('after a time in which nobody looked, the average of it is a forecast, and its observation begins anew', () => {
  const windows = steady([5_000, 10_000], 100);
  expect(viewAt(windows, 10_000).observedMs).toBe(10_000);
  const late = 10_000 + LOAD_KNOWN_MS_MAX + 1;
  const after = addSample(windows, sample(late, 1_000));
  expect(viewAt(after, late)).toMatchObject({ observedMs: 0, ageMs: late, sampleAgeMs: 0, latestMs: LOAD_KNOWN_MS_MAX + 1 });
  expect(viewAt(after, late).rates[2]?.messages).toBeGreaterThan(0);
  const next = addSample(after, sample(late + 5_000, 1_000));
  expect(viewAt(next, late + 5_000)).toMatchObject({ observedMs: 5_000, latestMs: 5_000 });
  // Of a segment that was made that long ago, too.
  expect(viewAt(startWindows(sample(late, 1_000), 0), late)).toMatchObject({ observedMs: 0, ageMs: late });
});

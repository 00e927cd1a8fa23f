import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { segmentId, type SegmentId, type TopicId } from '../../src/model/ids.ts';
import { SCALING_DEFAULT } from '../../src/model/scaling.ts';
import {
  METERED_SEGMENTS_MAX,
  NUDGE_MS,
  PRESSED_SEGMENTS_MAX,
  PRESSURE_WINDOW_MS,
  SEVERE_LOAD,
  SEVERE_WINDOW_MS,
  THROTTLED_WRITES_MIN,
} from '../../src/model/scaling-limits.ts';
import { isThrottled, type SegmentPressure } from '../../src/model/segment-pressure.ts';
import type { Topic } from '../../src/model/topic.ts';
import { createPressureMeter } from '../../src/state/pressure-meter.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const T = 't' as TopicId;
const OTHER = 'other' as TopicId;
const S = segmentId(0);

const topicOf = (scaling: Topic['settings']['scaling'] = SCALING_DEFAULT): Topic => ({
  id: T,
  name: 't',
  tenant: 'main',
  settings: { partitionKey: 'key', segments: 1, replicas: 2, ...(scaling === undefined ? {} : { scaling }) },
  state: 'active',
  version: 1,
  firstSegment: 0,
  nextSegment: 1,
  open: [],
  changes: [],
  createdMs: 0,
});

function site() {
  const clock = createVirtualClock(0);
  const told: (readonly [TopicId, readonly SegmentPressure[]])[] = [];
  const meter = createPressureMeter({ clock, onPressed: (topic, pressures) => void told.push([topic, pressures]) });
  const throttle = (times: number, segment: SegmentId = S, topic: TopicId = T): void => {
    for (let n = 0; n < times; n += 1) meter.throttled(topic, segment);
  };
  return { clock, told, meter, throttle };
}

const pressure = (throttledWrites: number, queuedMs: number, segment: SegmentId = S, topic: TopicId = T): SegmentPressure => ({
  topic,
  segment,
  throttledWrites,
  queuedMs,
});

describe('what is named', () => {
  test('is nothing where commits begin soon and the table takes them', () => {
    const { told, meter } = site();
    meter.queued(T, S, 1_000);
    meter.committed(topicOf(), S, { messages: 100, bytes: 10_000 });
    expect(meter.sample()).toEqual([]);
    expect(told).toEqual([]);
  });

  test('are refused writes, and the longest queueing, for as long as the window', async () => {
    const { clock, meter, throttle } = site();
    throttle(2);
    expect(meter.sample()).toEqual([pressure(2, 0)]);
    throttle(19);
    meter.queued(T, S, 700.2);
    meter.queued(T, S, 300);
    expect(meter.sample()).toEqual([pressure(21, 701)]);
    await clock.advance(1_000);
    meter.queued(T, S, 1_200);
    await clock.advance(PRESSURE_WINDOW_MS - 1_001);
    expect(meter.sample()).toEqual([pressure(21, 1_200)]);
    await clock.advance(1);
    expect(meter.sample()).toEqual([pressure(0, 1_200)]);
    await clock.advance(1_000);
    expect(meter.sample()).toEqual([]);
  });

  test('is nothing that the table refused once in that time', async () => {
    const { clock, told, meter, throttle } = site();
    for (let n = 0; n < 3; n += 1) {
      throttle(1);
      expect(meter.sample()).toEqual([]);
      await clock.advance(PRESSURE_WINDOW_MS);
    }
    expect(told).toEqual([]);
  });

  test('is, of one of many instances, what the table refused it once', () => {
    const told: (readonly SegmentPressure[])[] = [];
    const onPressed = (_: TopicId, pressures: readonly SegmentPressure[]): void => void told.push(pressures);
    const meter = createPressureMeter({ clock: createVirtualClock(0), onPressed, writesPerRefusal: THROTTLED_WRITES_MIN });
    meter.throttled(T, S);
    expect(told).toEqual([[pressure(THROTTLED_WRITES_MIN, 0)]]);
    expect(told[0]?.every(isThrottled)).toBe(true);
  });

  test('are the worst, throttled ones before those that only wait', () => {
    const { meter, throttle } = site();
    for (let n = 0; n < PRESSED_SEGMENTS_MAX; n += 1) meter.queued(OTHER, segmentId(n), 2_000 + n);
    throttle(2, segmentId(1));
    throttle(30, segmentId(2));
    const worst = meter.sample();
    expect(worst.slice(0, 3)).toEqual([
      pressure(30, 0, segmentId(2)),
      pressure(2, 0, segmentId(1)),
      pressure(0, 2_000 + PRESSED_SEGMENTS_MAX - 1, segmentId(PRESSED_SEGMENTS_MAX - 1), OTHER),
    ]);
    expect(worst).toHaveLength(PRESSED_SEGMENTS_MAX);
  });

  test('goes on over seconds in which nothing happened, and over many of them', async () => {
    const { clock, meter, throttle } = site();
    for (let second = 0; second < 30; second += 1) {
      throttle(second % 3 === 0 ? 30 : 0);
      await clock.advance(1_000);
    }
    // Of the seconds 21 to 30, the last of which has only begun: those three that had any.
    expect(meter.sample()).toEqual([pressure(90, 0)]);
  });
});

describe('the leader is told', () => {
  test('of a throttled segment at once, with what else of its topic has too much to do, and of each topic again after NUDGE_MS', async () => {
    const { clock, told, meter, throttle } = site();
    meter.queued(T, segmentId(1), 1_500);
    meter.queued(T, segmentId(2), 10);
    throttle(2, S, OTHER);
    throttle(2);
    expect(told).toEqual([
      [OTHER, [pressure(2, 0, S, OTHER)]],
      [T, [pressure(2, 0), pressure(0, 1_500, segmentId(1))]],
    ]);
    await clock.advance(NUDGE_MS - 1);
    throttle(20);
    expect(told).toHaveLength(2);
    await clock.advance(1);
    throttle(1);
    expect(told.slice(2)).toEqual([[T, [pressure(23, 0), pressure(0, 1_500, segmentId(1))]]]);
  });

  test.each([
    ['messages', { targetMessagesPerSecond: 100 }, { messages: 10, bytes: 1 }, 10],
    ['bytes', { targetBytesPerSecond: 1_000 }, { messages: 1, bytes: 100 }, 100],
    ['commits', { targetCommitsPerSecond: 10 }, { messages: 1, bytes: 1 }, 1],
  ] as const)('of many times its target in %s, once that has lasted', async (_, targets, stored, perCommit) => {
    const [target = 0] = Object.values(targets);
    const scaling = { ...SCALING_DEFAULT, ...targets };
    const needed = (SEVERE_LOAD * target * SEVERE_WINDOW_MS) / 1_000 / perCommit;
    const { clock, told, meter } = site();
    const commit = (times: number): void => {
      for (let n = 0; n < times; n += 1) meter.committed(topicOf(scaling), S, stored);
    };
    // A little less than that, for long, is told as what is over its target: once in a window.
    for (let second = 0; second < 20; second += 1) {
      commit(needed / 2 - 1);
      await clock.advance(1_000);
    }
    expect(told.splice(0)).toHaveLength(2);
    await clock.advance(PRESSURE_WINDOW_MS);
    commit(needed / 2);
    await clock.advance(1_000);
    commit(needed / 2 - 1);
    expect(told).toEqual([]);
    commit(1);
    expect(told).toEqual([[T, [pressure(0, 0)]]]);
    // What is two seconds ago counts no more.
    await clock.advance(SEVERE_WINDOW_MS);
    commit(needed - 1);
    expect(told).toHaveLength(1);
    commit(1);
    expect(told).toHaveLength(2);
  });

  test('of what stays over its target, once in a window; of what stays below it, never', async () => {
    const { clock, told, meter } = site();
    const seconds = async (messages: number): Promise<void> => {
      for (let second = 0; second < 30; second += 1) {
        meter.committed(topicOf({ ...SCALING_DEFAULT, targetMessagesPerSecond: 100 }), S, { messages, bytes: 1 });
        await clock.advance(1_000);
      }
    };
    await seconds(99);
    expect(told).toEqual([]);
    await clock.advance(PRESSURE_WINDOW_MS);
    await seconds(100);
    expect(told).toHaveLength(3);
  });

  test('by the targets of the topic as it is now, or by the usual ones', () => {
    const { told, meter } = site();
    const twice = SEVERE_LOAD * SCALING_DEFAULT.targetMessagesPerSecond * 2;
    const { scaling: _, ...settings } = topicOf().settings;
    meter.committed({ ...topicOf(), settings }, S, { messages: twice - 1, bytes: 1 });
    expect(told).toEqual([]);
    meter.committed(topicOf({ ...SCALING_DEFAULT, targetMessagesPerSecond: 1_000_000 }), S, { messages: 1, bytes: 1 });
    expect(told).toEqual([]);
    meter.committed({ ...topicOf(), settings }, S, { messages: 1, bytes: 1 });
    expect(told).toHaveLength(1);
  });
});

test('of more segments than it counts, those are forgotten that were new longest ago', async () => {
  const { clock, meter, throttle } = site();
  throttle(30, segmentId(1));
  await clock.advance(1_000);
  throttle(20, segmentId(2));
  for (let n = 0; n < METERED_SEGMENTS_MAX - 2; n += 1) meter.queued(OTHER, segmentId(n), 1);
  expect(meter.sample().map(({ segment }) => segment)).toEqual([segmentId(1), segmentId(2)]);
  meter.queued(OTHER, segmentId(METERED_SEGMENTS_MAX), 1);
  expect(meter.sample().map(({ segment }) => segment)).toEqual([segmentId(2)]);
});

describe('memory', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  /** What the meter holds: there is nothing else between two looks. */
  async function heldBytes(use: () => Promise<void>): Promise<number> {
    const used = (): number => (collectGarbage(), process.memoryUsage().heapUsed);
    const before = used();
    await use();
    return used() - before;
  }
  const BYTES_MAX = 1_048_576;

  test('of a day of commits to one segment, and of what is silent, is none to speak of', async () => {
    const { clock, meter } = site();
    const busy = await heldBytes(async () => {
      for (let second = 0; second < 86_400; second += 1) {
        meter.queued(T, S, 1);
        await clock.advance(1_000);
      }
    });
    expect(busy).toBeLessThan(BYTES_MAX);
    const silent = await heldBytes(async () => {
      for (let second = 0; second < PRESSURE_WINDOW_MS / 1_000; second += 1) {
        for (let n = 0; n < METERED_SEGMENTS_MAX; n += 1) meter.queued(T, segmentId(n), 1);
        await clock.advance(1_000);
      }
      await clock.advance(PRESSURE_WINDOW_MS);
      expect(meter.sample()).toEqual([]);
    });
    expect(silent).toBeLessThan(BYTES_MAX);
    meter.queued(T, S, 2_000);
    expect(meter.sample()).toHaveLength(1);
  });
});

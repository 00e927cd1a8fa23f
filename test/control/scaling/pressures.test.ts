import { expect, test } from 'vitest';
import { createPressures } from '../../../src/control/scaling/pressures.ts';
import { segmentId, type TopicId } from '../../../src/model/ids.ts';
import { PRESSURE_WINDOW_MS } from '../../../src/model/scaling-limits.ts';
import type { SegmentPressure } from '../../../src/model/segment-pressure.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const [t, u] = ['t', 'u'] as unknown as [TopicId, TopicId];
const pressed = (topic: TopicId, segment: number, throttledWrites = 2): SegmentPressure => {
  return { topic, segment: segmentId(segment), throttledWrites, queuedMs: 1_500 };
};

function told(...items: readonly SegmentPressure[]) {
  const clock = createVirtualClock();
  return { clock, pressures: createPressures({ clock, pressures: () => items }) };
}

test('what items say counts as long as they say it; what only waits is not throttled, and yet named', () => {
  const { pressures } = told(pressed(t, 1), pressed(t, 2, 1), pressed(u, 3));
  expect([...pressures.throttled(t)]).toEqual(['s0000001']);
  expect([...pressures.throttled(u)]).toEqual(['s0000003']);
  expect([...pressures.topics()]).toEqual([t, u]);
});

test('a nudge counts for its window, once, however many brokers send one; and names no topic of itself', async () => {
  const { clock, pressures } = told();
  pressures.note([pressed(t, 1), pressed(t, 2, 1)]);
  await clock.advance(PRESSURE_WINDOW_MS / 2);
  pressures.note([pressed(t, 3)]);
  pressures.note([pressed(t, 3)]);
  expect([...pressures.throttled(t)]).toEqual(['s0000001', 's0000003']);
  await clock.advance(PRESSURE_WINDOW_MS / 2);
  expect([...pressures.throttled(t)]).toEqual(['s0000003']);
  expect(pressures.topics().size).toBe(0);
  await clock.advance(PRESSURE_WINDOW_MS / 2);
  expect(pressures.throttled(t).size).toBe(0);
});

test('whoever is throttled no more says so by naming the segment without it', () => {
  const { pressures } = told();
  pressures.note([pressed(t, 1)]);
  pressures.note([pressed(t, 1, 0)]);
  expect(pressures.throttled(t).size).toBe(0);
});

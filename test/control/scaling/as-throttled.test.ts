import { expect, test } from 'vitest';
import { planScaling } from '../../../src/control/scaling/plan-scaling.ts';
import { AS_THROTTLED_LOAD_MIN } from '../../../src/model/scaling-limits.ts';
import { segmentsOf, SETTINGS, viewOf } from './scaled-topic.ts';

const TARGET = SETTINGS.targetMessagesPerSecond;

test.each([
  { told: 0.4, other: 0.4, splits: 2, why: 'carries as much' },
  { told: 0.4, other: 0.399, splits: 1, why: 'carries less' },
  { told: AS_THROTTLED_LOAD_MIN, other: AS_THROTTLED_LOAD_MIN, splits: 2, why: 'carries as much as may be no chance' },
  { told: 0.1, other: AS_THROTTLED_LOAD_MIN - 0.001, splits: 1, why: 'carries little, as the throttled one does' },
])('beside a segment that is throttled at $told of its target, one with $other $why', ({ told, other, splits }) => {
  const segments = segmentsOf([told, other].map((load) => viewOf(load * TARGET))).map((one, n) => ({ ...one, throttled: n === 0 }));
  const { changes } = planScaling({ settings: SETTINGS, scheduledMin: 0, keptMin: 0, segments, state: {}, nowMs: 1e9 });
  expect(changes).toHaveLength(splits);
  for (const change of changes) expect(change).toMatchObject({ kind: 'split', reason: { why: 'throttled' } });
});

test('where none is throttled, none is taken for it', () => {
  const segments = segmentsOf([0.9, 0.9].map((load) => viewOf(load * TARGET)));
  expect(planScaling({ settings: SETTINGS, scheduledMin: 0, keptMin: 0, segments, state: {}, nowMs: 1e9 }).changes).toEqual([]);
});

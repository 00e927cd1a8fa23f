import { expect, test } from 'vitest';
import { brokersDesired } from '../../../src/control/brokers/desired.ts';
import { IDLE } from '../../../src/model/broker.ts';

const busy = (...percents: readonly number[]) => percents.map((busyPercent) => ({ ...IDLE, busyPercent }));

test('as many brokers are desired as would be 60 % busy each', () => {
  expect(brokersDesired(busy(60, 60, 60))).toBe(3);
  expect(brokersDesired(busy(90, 91))).toBe(4);
  expect(brokersDesired(busy(10, 20, 30))).toBe(1);
});

test('one is always desired where there are any, and none where there are none', () => {
  expect(brokersDesired(busy(0, 0))).toBe(1);
  expect(brokersDesired([])).toBe(0);
});

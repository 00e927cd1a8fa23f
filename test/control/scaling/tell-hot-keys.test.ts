import { expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { createHotKeyTeller } from '../../../src/control/scaling/tell-hot-keys.ts';
import { segmentId, type TopicId } from '../../../src/model/ids.ts';
import type { HotKey } from '../../../src/model/scaling.ts';

const [t, u] = [
  { id: 't' as TopicId, name: 'orders' },
  { id: 'u' as TopicId, name: 'others' },
];
const hot = (lo: number, hi: number, segment = 0): HotKey => ({ segment: segmentId(segment), lo, hi, share: 0.75, load: 3 });

function teller() {
  const telemetry = createRecordingTelemetry();
  const levels = (): string[] => telemetry.logs.map(({ level, fields }) => `${level} ${fields['lo']}`);
  return { telemetry, levels, gauge: () => telemetry.total('kelp.hot_keys'), teller: createHotKeyTeller({ telemetry }) };
}

test('each is said once, as long as it is there, though its neighbours are cut off; and when it is gone', () => {
  const at = teller();
  at.teller.tell(t, [], [hot(4_096, 8_191)]);
  at.teller.tell(t, [hot(4_096, 8_191)], [hot(4_352, 4_607, 5), hot(60_000, 60_000)]);
  expect([at.levels(), at.gauge()]).toEqual([['warn 4096', 'warn 60000'], 2]);
  at.teller.tell(t, [hot(4_352, 4_607, 5), hot(60_000, 60_000)], [hot(60_000, 60_000)]);
  expect([at.levels().at(-1), at.gauge()]).toEqual(['info 4352', 1]);
  expect(at.telemetry.logs[0]?.fields).toEqual({ topic: 't', name: 'orders', ...hot(4_096, 8_191) });
});

test('it is said again once its partition is found, and not with each cut on the way', () => {
  const at = teller();
  const found = [hot(4_096, 8_191), hot(4_352, 4_607, 5), hot(4_400, 4_400, 9), hot(4_400, 4_400, 11)];
  for (const [n, key] of found.entries()) at.teller.tell(t, found.slice(Math.max(0, n - 1), n), [key]);
  expect(at.levels()).toEqual(['warn 4096', 'warn 4400']);
});

test('of topics that nobody looks at any more the gauge shows none', () => {
  const at = teller();
  at.teller.tell(t, [], [hot(1, 1), hot(9, 9)]);
  at.teller.tell(u, [], [hot(5, 5)]);
  at.teller.keep(new Set([u.id]));
  expect(at.gauge()).toBe(1);
  at.teller.tell(u, [hot(5, 5)], []);
  at.teller.keep(new Set());
  expect(at.gauge()).toBe(0);
});

import { expect, test } from 'vitest';
import { createLogTelemetry } from '../../../src/adapters/system/log-telemetry.ts';

function make() {
  const lines: string[] = [];
  const telemetry = createLogTelemetry({ clock: { nowMs: () => Date.UTC(2026, 0, 31) }, write: (line) => void lines.push(line) });
  return { telemetry, lines };
}

test('counts are summed by name until somebody takes them; what nobody can ask for writes nothing', () => {
  const { telemetry, lines } = make();
  telemetry.count('kelp.a', 2, { kind: 'x' });
  telemetry.count('kelp.a', 3, { kind: 'y' });
  telemetry.count('kelp.b', 1);
  telemetry.adjust('kelp.c', 1);
  telemetry.record('kelp.d', 0.5);
  expect([telemetry.takeCounts(), telemetry.takeCounts()]).toEqual([{ 'kelp.a': 5, 'kelp.b': 1 }, {}]);
  expect(lines).toEqual([]);
});

test('a log is one line of JSON, without secrets', () => {
  const { telemetry, lines } = make();
  telemetry.log('warn', 'something', { topic: 't', token: 'x' });
  telemetry.log('info', 'nothing');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { time: '2026-01-31T00:00:00.000Z', level: 'warn', message: 'something', topic: 't', token: '[hidden]' },
    { time: '2026-01-31T00:00:00.000Z', level: 'info', message: 'nothing' },
  ]);
});

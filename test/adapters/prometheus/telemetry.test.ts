import { describe, expect, test } from 'vitest';
import { createPrometheusTelemetry } from '../../../src/adapters/prometheus/telemetry.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const START_MS = Date.UTC(2026, 0, 31);

function make() {
  const lines: string[] = [];
  const telemetry = createPrometheusTelemetry({ clock: createVirtualClock(START_MS), write: (line) => void lines.push(line) });
  return { telemetry, lines, logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

/** Samples of our own metrics, by name and labels. */
async function samples(telemetry: ReturnType<typeof createPrometheusTelemetry>): Promise<Map<string, number>> {
  const lines = (await telemetry.expose()).split('\n').filter((line) => line.startsWith('kelp_'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

describe('prometheus telemetry', () => {
  test('a count is a counter by attributes', async () => {
    const { telemetry } = make();
    telemetry.count('kelp.publish.messages', 2, { topic: 'a' });
    telemetry.count('kelp.publish.messages', 3, { topic: 'a' });
    telemetry.count('kelp.publish.messages', 1, { topic: 'b' });
    telemetry.count('kelp.spills', 1);
    expect([...(await samples(telemetry))]).toEqual([
      ['kelp_publish_messages_total{topic="a"}', 5],
      ['kelp_publish_messages_total{topic="b"}', 1],
      ['kelp_spills_total', 1],
    ]);
  });

  test('what goes up and down is a gauge', async () => {
    const { telemetry } = make();
    telemetry.adjust('kelp.http.waiters', 1);
    telemetry.adjust('kelp.http.waiters', 1);
    telemetry.adjust('kelp.http.waiters', -2);
    telemetry.adjust('kelp.open', 3, { kind: 'a' });
    expect([...(await samples(telemetry))]).toEqual([
      ['kelp_http_waiters', 0],
      ['kelp_open{kind="a"}', 3],
    ]);
  });

  test('a duration is a histogram in seconds, everything else one in bytes', async () => {
    const { telemetry } = make();
    telemetry.record('kelp.table.operation.duration', 0.003, { operation: 'get', 'error.type': '' });
    telemetry.record('kelp.http.body.size', 5_000);
    const found = await samples(telemetry);
    expect(found.get('kelp_table_operation_duration_seconds_bucket{le="0.005",operation="get",error_type=""}')).toBe(1);
    expect(found.get('kelp_table_operation_duration_seconds_bucket{le="0.0025",operation="get",error_type=""}')).toBe(0);
    expect(found.get('kelp_table_operation_duration_seconds_sum{operation="get",error_type=""}')).toBeCloseTo(0.003);
    expect(found.get('kelp_http_body_size_bytes_bucket{le="4096"}')).toBe(0);
    expect(found.get('kelp_http_body_size_bytes_bucket{le="16384"}')).toBe(1);
    expect(found.get('kelp_http_body_size_bytes_count')).toBe(1);
  });

  test('an attribute that a metric was not made with is left out, and told once', async () => {
    const { telemetry, logged } = make();
    telemetry.count('kelp.x', 1, { a: '1' });
    telemetry.count('kelp.x', 1, { a: '1', b: '2' });
    telemetry.count('kelp.x', 1, { a: '1', b: '3' });
    expect([...(await samples(telemetry))]).toEqual([['kelp_x_total{a="1"}', 3]]);
    expect(logged()).toMatchObject([{ level: 'error', attribute: 'kelp.x b' }]);
  });

  test('two of them don\u2019t share a registry, and both tell of the process', async () => {
    const first = make().telemetry;
    const second = make().telemetry;
    first.count('kelp.x', 1);
    expect((await samples(second)).size).toBe(0);
    expect(await second.expose()).toContain('process_cpu_seconds_total');
    expect(second.contentType).toContain('text/plain');
  });
});

describe('log', () => {
  test('one line of JSON, whatever is in it', () => {
    const { telemetry, lines } = make();
    telemetry.log('info', 'line\nbreak', { topic: 'a', count: 1, nothing: null, at: undefined, big: 10n });
    expect(lines).toEqual([
      '{"time":"2026-01-31T00:00:00.000Z","level":"info","message":"line\\nbreak","topic":"a","count":1,"nothing":null,"big":"10"}',
    ]);
    expect(lines.join('')).not.toContain('\n');
  });

  test('no secret, at any depth', () => {
    const { telemetry, lines } = make();
    const hidden = {
      rootToken: 'hush0',
      headers: { Authorization: 'hush1', 'x-api-key': 'hush2' },
      deep: [{ secretKey: 'hush3', accessKey: 'hush4' }],
    };
    telemetry.log('warn', 'm', hidden);
    expect(lines.join('')).not.toMatch(/hush/);
    expect(lines.join('').match(/\[hidden\]/g)).toHaveLength(5);
  });

  test('no payload: bytes are counted, text and depth are cut', () => {
    const { telemetry, lines } = make();
    const endless: Record<string, unknown> = {
      bytes: new Uint8Array(1_000),
      text: 'x'.repeat(100_000),
      list: Array.from({ length: 10_000 }, () => 1),
    };
    endless['self'] = endless;
    telemetry.log('error', 'm', endless);
    expect(lines[0]).toContain('"1000 bytes"');
    expect(lines[0]?.length).toBeLessThan(10_000);
  });

  test('an error is told with its code and its causes, without what hangs on to it', () => {
    const { telemetry, logged } = make();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', request: { headers: 'hush1' } });
    telemetry.log('error', 'm', { error: new KelpError('unavailable', 'table-unavailable', 'no table', { cause }) });
    expect(logged()).toMatchObject([
      {
        error: {
          name: 'KelpError',
          code: 'table-unavailable',
          message: 'no table',
          cause: { name: 'Error', code: 'ECONNREFUSED', message: 'refused' },
        },
      },
    ]);
    expect(JSON.stringify(logged())).not.toContain('hush1');
  });
});

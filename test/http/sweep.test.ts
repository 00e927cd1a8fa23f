import { describe, expect, test } from 'vitest';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import type { SweepReport } from '../../src/model/sweep-report.ts';
import { CONTROL_REQUEST_BYTES_MAX, WAIT_MARGIN_MS } from '../../src/model/limits.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { createDeadlineClock } from '../consume/manual-clock.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const PATH = '/v1/sweep';
const JSON_TYPE = { 'content-type': 'application/json' };
const uploads = { examined: 9, expired: 1, submitted: 2, staged: 3, orphans: 4, checked: 5, quarantined: 6, bytes: 7, failed: 8 };
const deletions = { carriedOn: 1, cleaned: 2, strays: 3, failed: 4 };
const cut = { topic: 't0' as TopicId, segment: 's0000000' as SegmentId, start: 5, messages: 2, bytes: 3, reason: 'max-age' as const };
const retention = { examined: 1, messages: 2, bytes: 3, failed: 4, cuts: [cut] };
const garbage = { neverCommitted: 1, archived: 2, files: 3, uploads: 4, pages: 5, lines: 6, requests: 7, bytes: 8, failed: 9 };

/** The app over a sweep that only notes what it was asked for. */
function open(
  sweep: (signal: AbortSignal) => Promise<Partial<SweepReport>> = async () => ({}),
  clock?: Clock,
): TestApp & { readonly asked: boolean[] } {
  const asked: boolean[] = [];
  const t = createTestApp({
    ...(clock === undefined ? {} : { clock }),
    change: () => ({
      async sweep({ dryRun }, signal) {
        asked.push(dryRun);
        return { dryRun, complete: true, uploads, deletions, retention, garbage, ...(await sweep(signal)) };
      },
    }),
  });
  return { ...t, asked };
}

describe('POST /v1/sweep', () => {
  test.each([
    ['', false],
    ['{}', false],
    ['{"dryRun":false}', false],
    [' {"dryRun" : true } ', true],
  ])('%j says what was done, or would be', async (body, dryRun) => {
    const t = open();
    const answer = await t.send('POST', PATH, body === '' ? {} : { body, headers: JSON_TYPE });
    expect([answer.status, answer.json]).toEqual([200, { dryRun, complete: true, uploads, deletions, retention, garbage }]);
    expect(t.asked).toEqual([dryRun]);
  });

  test.each([
    ['{"dryRun":"true"}', 'invalid-dry-run', 'dryRun'],
    ['{"dryRun":1}', 'invalid-dry-run', 'dryRun'],
    ['{"dryRun":null}', 'invalid-dry-run', 'dryRun'],
    ['{"dryRun":true,"dryRun":true}', 'invalid-json', undefined],
    ['{"dryrun":true}', 'invalid-request', 'dryrun'],
    ['[]', 'invalid-request', undefined],
    ['true', 'invalid-request', undefined],
    ['{', 'invalid-json', undefined],
  ])('%j is refused, and nothing is swept', async (body, code, field) => {
    const t = open();
    const answer = await t.send('POST', PATH, { body, headers: JSON_TYPE });
    expect([answer.status, answer.json.code]).toEqual([400, code]);
    if (field !== undefined) expect(answer.json.field).toBe(field);
    expect(t.asked).toEqual([]);
  });

  test('takes nothing by the query, no other type, no large body, and nobody without a token', async () => {
    const t = open();
    const large = JSON.stringify({ dryRun: true }).padEnd(CONTROL_REQUEST_BYTES_MAX + 1);
    const answers = [
      await t.send('POST', `${PATH}?dryRun=true`),
      await t.send('POST', PATH, { body: 'dryRun=true', headers: { 'content-type': 'text/plain' } }),
      await t.send('POST', PATH, { body: large, headers: JSON_TYPE }),
      await t.send('POST', PATH, { token: null }),
      await t.send('GET', PATH),
    ];
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
      [400, 'invalid-query'],
      [415, 'unsupported-type'],
      [413, 'too-large'],
      [401, 'unauthenticated'],
      [405, 'method-not-allowed'],
    ]);
    expect(t.asked).toEqual([]);
  });

  test('ends a moment before its caller’s time, and says how far it got', async () => {
    const clock = createDeadlineClock();
    const beganMs = clock.monotonicMs();
    let endedMs: number | undefined;
    const untilEnded = (signal: AbortSignal): Promise<Partial<SweepReport>> =>
      new Promise((resolve) => {
        const onEnd = (): void => {
          endedMs ??= clock.monotonicMs() - beganMs;
          resolve({ complete: false });
        };
        signal.addEventListener('abort', onEnd, { once: true });
      });
    const t = open(untilEnded, clock);
    const answer = t.send('POST', PATH, { headers: { 'kelp-timeout-ms': '1000' } });
    await clock.advance(1_000);
    const { status, json } = await answer;
    expect([status, json.complete, endedMs]).toEqual([200, false, 1_000 - WAIT_MARGIN_MS]);
  });

  test('does all of it over the real engine', async () => {
    const t = createTestApp();
    expect((await t.send('PUT', '/v1/topics/t', { body: { partitionKey: 'key' } })).status).toBe(201);
    const announced = { bytes: 1, sha256: '0'.repeat(64) };
    expect((await t.send('POST', '/v1/topics/t/uploads', { body: announced })).status).toBe(201);
    const { json } = await t.send('POST', PATH, { body: { dryRun: true } });
    expect(json).toMatchObject({ dryRun: true, complete: true, uploads: { examined: 1, expired: 0, failed: 0 }, deletions: { failed: 0 } });
  });
});

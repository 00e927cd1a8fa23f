import { describe, expect, test } from 'vitest';
import { createLogTelemetry } from '../../src/adapters/system/log-telemetry.ts';
import { rebalanceWork } from '../../src/cli/rebalance-work.ts';
import { createScheduleHandler, type ScheduleDeps, type ScheduleHandler } from '../../src/cli/schedule-handler.ts';
import type { LeaderService } from '../../src/control/control.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { RUNTIME_MARGIN_MS } from '../../src/model/function-limits.ts';
import { LEASE_RELEASE_MS_MAX } from '../../src/model/limits.ts';
import type { HeldBack, HotKey, PlannedOutcome, TopicPlan } from '../../src/model/scaling.ts';
import { createVirtualClock, type VirtualClock } from '../simulation/virtual-clock.ts';

const split: PlannedOutcome = {
  kind: 'split',
  segment: segmentId(0),
  at: 9,
  reason: { why: 'severe', load: 9, measure: 'bytes' },
};
const merge: PlannedOutcome = {
  kind: 'merge',
  segments: [segmentId(1), segmentId(2)],
  reason: { why: 'quiet', load: 0, loadMax: 1, average: 1 },
};
const hot: HotKey = { segment: segmentId(3), lo: 1, hi: 1, share: 0.9, load: 2 };
const held: HeldBack = { segment: segmentId(4), why: 'hot-key', load: 2 };

/** Counted before each event. */
const COUNTS = { 'kelp.rebalance.failed': 2 };

type Run = { readonly clock: VirtualClock; readonly handler: ScheduleHandler; readonly lines: Record<string, unknown>[] };

function runWith(
  rebalance: (clock: VirtualClock) => LeaderService['rebalance'],
  settled: ScheduleDeps['settled'] = async () => undefined,
): Run {
  const clock = createVirtualClock();
  const lines: Record<string, unknown>[] = [];
  const telemetry = createLogTelemetry({ clock, write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  telemetry.count('kelp.rebalance.failed', COUNTS['kelp.rebalance.failed']);
  return { clock, lines, handler: createScheduleHandler({ clock, telemetry, work: rebalanceWork(rebalance(clock)), settled }) };
}

const plan = (name: string, rest: Partial<TopicPlan>): TopicPlan => ({
  topic: `t${name.padEnd(15, '0')}` as TopicId,
  name,
  segments: 4,
  changes: [],
  hotKeys: [],
  held: [],
  ...rest,
});
const leaving = (leftMs: number) => ({ getRemainingTimeInMillis: () => leftMs });

describe('an event', () => {
  test('has all topics looked at, and what was done is one line', async () => {
    const asked: unknown[] = [];
    const { clock, handler, lines } = runWith((at) => async (what, signal) => {
      asked.push(what);
      await at.sleep(1_200, signal);
      return [
        plan('busy', {
          changes: [
            { ...split, children: [segmentId(1), segmentId(2)] },
            { ...split, refused: 'segment-sealed' },
          ],
          held: [held],
        }),
        plan('quiet', { changes: [{ ...merge, children: [segmentId(3)] }] }),
        plan('skewed', { hotKeys: [hot] }),
      ];
    });
    const done = await clock.run(handler({ source: 'aws.events' }, leaving(55_000)));
    expect(done).toMatchObject({ splits: 1, merges: 1, refused: 1 });
    expect(asked).toEqual([{ dryRun: false }]);
    expect(lines).toEqual([
      {
        time: expect.any(String),
        level: 'info',
        message: 'rebalanced',
        splits: 1,
        merges: 1,
        refused: 1,
        held: 1,
        hotKeys: 1,
        topics: [
          {
            name: 'busy',
            changes: ['split s0000000 at 9 (severe): s0000001 s0000002', 'split s0000000 at 9 (severe): refused, segment-sealed'],
          },
          { name: 'quiet', changes: ['merge s0000001 s0000002 (quiet): s0000003'] },
        ],
        ms: 1_200,
        counts: COUNTS,
      },
    ]);
  });

  test('that fails, fails the invocation, and says why', async () => {
    const error = new KelpError('unavailable', 'no-lease', 'another one leads');
    const { clock, handler, lines } = runWith(() => () => Promise.reject(error));
    await expect(clock.run(handler({}, leaving(55_000)))).rejects.toBe(error);
    expect(lines).toMatchObject([{ level: 'error', message: 'rebalancing failed', error: { code: 'no-lease' }, counts: COUNTS }]);
  });

  test('ends in time to give the lease back, and before the platform ends it', async () => {
    const { clock, handler, lines } = runWith((at) => async (_, signal) => {
      await at.sleep(3_600_000, signal);
      return [];
    });
    await expect(clock.run(handler({}, leaving(20_000)))).rejects.toMatchObject({ code: 'out-of-time', cause: { name: 'TimeoutError' } });
    expect(lines).toMatchObject([{ ms: 20_000 - LEASE_RELEASE_MS_MAX - RUNTIME_MARGIN_MS }]);
  });

  test('with no time left does nothing', async () => {
    let began = false;
    const { clock, handler } = runWith((at) => async (_, signal) => {
      await at.sleep(1, signal);
      began = true;
      return [];
    });
    await expect(clock.run(handler({}, leaving(400)))).rejects.toMatchObject({ code: 'out-of-time', cause: { name: 'TimeoutError' } });
    expect(began).toBe(false);
  });

  test('returns once what it has begun is over, or its time is', async () => {
    for (const behindMs of [500, 60_000]) {
      const { clock, handler } = runWith(
        () => async () => [],
        (signal) => clock.sleep(behindMs, signal),
      );
      const fromMs = clock.monotonicMs();
      await clock.run(handler({}, leaving(20_000)));
      expect(clock.monotonicMs() - fromMs).toBe(Math.min(behindMs, 20_000 - LEASE_RELEASE_MS_MAX - RUNTIME_MARGIN_MS));
    }
  });
});

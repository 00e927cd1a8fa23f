import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { withLeaderFrom } from '../../../src/control/leader/with-leader.ts';
import type { Leader } from '../../../src/model/broker.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { BACKOFF_MS_MAX, LEADER_POLL_MS_MAX, TIMEOUT_MS_DEFAULT } from '../../../src/model/limits.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';
import { throttled, unanswered, unavailable } from '../../simulation/world-faults.ts';
import { counting, depsOf, fails, forEver, leader, next, ok } from './calls.ts';

describe('waiting for a leader', () => {
  test('no leader and a deadline of 100 ms: the waiter and its getter are back within 200 ms, with the deadline’s own reason', async () => {
    const clock = createVirtualClock();
    const getLeader = counting(clock, async () => undefined);
    const fn = counting(clock, ok);
    const waited = withLeaderFrom(depsOf(clock), clock.deadline(100), getLeader, fn);
    await expect(clock.run(waited)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(clock.monotonicMs()).toBeLessThanOrEqual(200);
    const calls = getLeader.atMs.length;
    await clock.advance(60_000);
    expect([getLeader.atMs.length, fn.atMs.length, clock.sleeping()]).toEqual([calls, 0, 0]);
  });

  test('a known leader is asked at once', async () => {
    const clock = createVirtualClock();
    expect(await clock.run(withLeaderFrom(depsOf(clock), forEver, async () => leader, ok))).toBe('done');
    expect(clock.monotonicMs()).toBeLessThan(10);
  });

  test('polls with a random step under 200 ms, and finds one that appears in mid-wait', async () => {
    const clock = createVirtualClock();
    const getLeader = counting(clock, async () => (clock.monotonicMs() > 5_000 ? leader : undefined));
    const asked: Leader[] = [];
    const found = withLeaderFrom(depsOf(clock), forEver, getLeader, async (who) => void asked.push(who));
    await clock.run(found);
    expect(asked).toEqual([leader]);
    const steps = getLeader.atMs.slice(1).map((atMs, index) => atMs - (getLeader.atMs[index] ?? 0));
    expect(Math.max(...steps)).toBeLessThan(LEADER_POLL_MS_MAX);
    expect(Math.min(...steps)).toBeGreaterThan(LEADER_POLL_MS_MAX / 5);
    expect(new Set(steps).size).toBeGreaterThan(10);
  });

  test('an empty address is nobody’s, and never dialled', async () => {
    const clock = createVirtualClock();
    const asked: string[] = [];
    const getLeader = counting<Leader>(
      clock,
      async () => ({ ...leader, url: '' }),
      async () => leader,
    );
    await clock.run(withLeaderFrom(depsOf(clock), forEver, getLeader, async ({ url }) => void asked.push(url)));
    expect(asked).toEqual(['http://a']);
  });

  test('a caller without a deadline gets one: 30 s, and an error of its own', async () => {
    const clock = createVirtualClock();
    const waited = withLeaderFrom(depsOf(clock), forEver, async () => undefined, ok);
    await expect(clock.run(waited)).rejects.toMatchObject({ kind: 'unavailable', code: 'no-leader' });
    expect(clock.monotonicMs()).toBe(TIMEOUT_MS_DEFAULT);
    expect(getEventListeners(forEver, 'abort')).toHaveLength(0);
  });

  test('a getter of one’s own has the same bounds, though it looks at no signal', async () => {
    const clock = createVirtualClock();
    const silent = (): Promise<never> => new Promise(() => undefined);
    await expect(clock.run(withLeaderFrom(depsOf(clock), clock.deadline(100), silent, ok))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(clock.monotonicMs()).toBe(100);
    await expect(clock.run(withLeaderFrom(depsOf(clock), forEver, silent, ok))).rejects.toMatchObject({ code: 'no-leader' });
    expect(clock.monotonicMs()).toBe(100 + TIMEOUT_MS_DEFAULT);
  });
});

describe('asking again', () => {
  test('three transient failures, then success, are four calls', async () => {
    const clock = createVirtualClock();
    const fn = counting(clock, fails(unavailable()), fails(throttled()), fails(unanswered()), ok);
    expect(await clock.run(withLeaderFrom(depsOf(clock), forEver, async () => leader, fn))).toBe('done');
    expect(fn.atMs).toHaveLength(4);
  });

  test('a permanent failure with a deadline of 2 s ends by it, after more than one call', async () => {
    const clock = createVirtualClock();
    const fn = counting(clock, fails(unavailable()));
    await expect(clock.run(withLeaderFrom(depsOf(clock), clock.deadline(2_000), async () => leader, fn))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(clock.monotonicMs()).toBeLessThanOrEqual(2_000);
    expect(fn.atMs.length).toBeGreaterThan(1);
    const calls = fn.atMs.length;
    await clock.advance(60_000);
    expect(fn.atMs).toHaveLength(calls);
  });

  test('without a deadline it ends with the cap, whose error names the last failure', async () => {
    const clock = createVirtualClock();
    const failure = unavailable();
    const fn = counting(clock, fails(failure));
    await expect(clock.run(withLeaderFrom(depsOf(clock), forEver, async () => leader, fn))).rejects.toMatchObject({
      code: 'no-leader',
      cause: failure,
    });
    expect(clock.monotonicMs()).toBe(TIMEOUT_MS_DEFAULT);
    // Backoff: a poll loop would have made hundreds.
    expect(fn.atMs.length).toBeLessThan(40);
    const pauses = fn.atMs.slice(1).map((atMs, index) => atMs - (fn.atMs[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(BACKOFF_MS_MAX);
  });

  test('a getter that fails is asked again, too, within the same budget', async () => {
    const clock = createVirtualClock();
    const getLeader = counting<Leader>(clock, fails(unavailable()), fails(throttled()), async () => leader);
    expect(await clock.run(withLeaderFrom(depsOf(clock), forEver, getLeader, ok))).toBe('done');
    expect(getLeader.atMs).toHaveLength(3);
    const broken = counting<Leader>(clock, fails(new KelpError('corrupt', 'corrupt', 'x')));
    await expect(clock.run(withLeaderFrom(depsOf(clock), forEver, broken, ok))).rejects.toMatchObject({ kind: 'corrupt' });
    expect(broken.atMs).toHaveLength(1);
  });

  test('an error that another try would not change is the answer', async () => {
    const clock = createVirtualClock();
    for (const error of [new KelpError('not-found', 'broker-not-found', 'x'), new Error('unavailable, try again')]) {
      const fn = counting(clock, fails(error));
      await expect(clock.run(withLeaderFrom(depsOf(clock), forEver, async () => leader, fn))).rejects.toBe(error);
      expect(fn.atMs).toHaveLength(1);
    }
  });

  test('of the one that failed waits its backoff; another one that leads by then is asked at once', async () => {
    // By then the waits are seconds long, and a take-over must not be as late.
    const takenOverMs = 9_000;
    for (let seed = 0; seed < 20; seed += 1) {
      const own = createVirtualClock();
      const call = counting(own, async () => {
        if (own.monotonicMs() < takenOverMs) throw unavailable();
        return 'done';
      });
      const get = async (): Promise<Leader> => (own.monotonicMs() < takenOverMs ? leader : next);
      expect(await own.run(withLeaderFrom(depsOf(own, seed), forEver, get, call))).toBe('done');
      expect(own.monotonicMs()).toBeLessThanOrEqual(takenOverMs + LEADER_POLL_MS_MAX);
    }
  });
});

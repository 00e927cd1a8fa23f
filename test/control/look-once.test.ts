import { expect, test } from 'vitest';
import { createLookOnce } from '../../src/control/look-once.ts';
import type { TopicMemory } from '../../src/control/scaling/scaling-memory.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { FUNCTION_LEASE_MS } from '../../src/model/function-limits.ts';
import { NUDGE_MS } from '../../src/model/scaling-limits.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const TOPIC = 'tz7unqpl8fj8enug' as TopicId;
const PRESSURES = [{ topic: TOPIC, segment: segmentId(0), throttledWrites: 3, queuedMs: 0 }];
const NOW_MS = 1_000_000;
const { signal } = new AbortController();

const clock = createVirtualClock();

/** What a topic was remembered to be at these moments, one for each time that somebody asks. */
function looking(...sampledMs: readonly (number | undefined)[]) {
  const done: unknown[] = [];
  const reads = [...sampledMs];
  const lookOnce = createLookOnce({
    clock,
    memory: {
      nowMs: () => NOW_MS,
      read() {
        const atMs = reads.shift();
        const windows = atMs === undefined ? [] : [[segmentId(0), { sample: { atMs } }]];
        return Promise.resolve(atMs === undefined ? undefined : ({ windows: new Map(windows as never) } as unknown as TopicMemory));
      },
    },
    service: {
      nudge: (topic, pressures) => (done.push(['nudge', topic, pressures]), Promise.resolve()),
      rebalance: (asked) => (done.push(['rebalance', asked]), Promise.resolve([])),
    },
    leadOnce(work) {
      if (isHeld) return Promise.reject(new KelpError('unavailable', 'no-lease', 'another one leads'));
      done.push('leads');
      return work();
    },
  });
  let isHeld = false;
  return { done, look: () => lookOnce(TOPIC, PRESSURES, signal), hold: () => (isHeld = true), release: () => (isHeld = false) };
}

test.each([
  { known: 'nothing', sampledMs: undefined },
  { known: 'what is old', sampledMs: NOW_MS - NUDGE_MS },
])('with $known known of the topic, it leads, says what is throttled, and has that topic looked at', async ({ sampledMs }) => {
  const { done, look } = looking(sampledMs, sampledMs);
  await look();
  expect(done).toEqual(['leads', ['nudge', TOPIC, PRESSURES], ['rebalance', { topic: TOPIC, dryRun: false }]]);
});

test('a topic that anybody has looked at a moment ago is worth no lease', async () => {
  const { done, look } = looking(NOW_MS - NUDGE_MS + 1);
  await look();
  expect(done).toEqual([]);
});

test('nor is it looked at again by whoever had to wait for the lease', async () => {
  const { done, look } = looking(undefined, NOW_MS - 1);
  await look();
  expect(done).toEqual(['leads']);
});

test('whoever does not get the lease does not try again for as long as one lasts', async () => {
  const { done, look, hold, release } = looking();
  hold();
  await expect(look()).rejects.toMatchObject({ code: 'no-lease' });
  release();
  await clock.advance(FUNCTION_LEASE_MS - 1);
  await look();
  expect(done).toEqual([]);
  await clock.advance(1);
  await look();
  expect(done).toHaveLength(3);
});

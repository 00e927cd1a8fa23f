import { expect, test } from 'vitest';
import { createLookOnce } from '../../src/control/look-once.ts';
import type { TopicMemory } from '../../src/control/scaling/scaling-memory.ts';
import type { BrokerId, TopicId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';
import { LOOK_CROWD_MS, LOOK_LEASE_MS_MAX } from '../../src/model/crowd-limits.ts';
import { FUNCTION_LEASE_MS } from '../../src/model/function-limits.ts';
import { NUDGE_MS } from '../../src/model/scaling-limits.ts';
import { orAbort } from '../../src/state/abortable.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const TOPIC = 'tz7unqpl8fj8enug' as TopicId;
const PRESSURES = [{ topic: TOPIC, segment: segmentId(0), throttledWrites: 3, queuedMs: 0 }];
const NOW_MS = 1_000_000;
const LOOKED = ['leads', ['nudge', TOPIC, PRESSURES], ['rebalance', { topic: TOPIC, dryRun: false }]];
const { signal } = new AbortController();

type World = {
  /** When the topic was looked at, as each read of the memory says; undefined, and after the last one: never. */
  readonly sampledMs?: readonly (number | undefined)[];
  readonly leader?: 'process' | 'function';
  /** Whether the lease is somebody's, though nobody was found to have it. */
  readonly isTaken?: boolean;
  readonly lookMs?: number;
};

/** `fraction`: of each random wait. */
function looking({ sampledMs = [], leader, isTaken = false, lookMs = 0 }: World, fraction = 0) {
  const clock = createVirtualClock();
  const done: unknown[] = [];
  const reads = [...sampledMs];
  const known = (atMs: number) => ({ windows: new Map([[segmentId(0), { sample: { atMs } }]]) }) as unknown as TopicMemory;
  const never = new Promise<never>(() => undefined);
  const lookOnce = createLookOnce({
    clock,
    random: { fraction: () => fraction },
    memory: {
      nowMs: () => NOW_MS,
      read() {
        const atMs = reads.shift();
        return Promise.resolve(atMs === undefined ? undefined : known(atMs));
      },
    },
    service: {
      nudge: (topic, pressures) => (done.push(['nudge', topic, pressures]), Promise.resolve()),
      async rebalance(asked) {
        await clock.sleep(lookMs, signal);
        done.push(['rebalance', asked]);
        return [];
      },
    },
    finder: { find: () => Promise.resolve(leader === undefined ? undefined : { id: leader as BrokerId, url: 'http://l', epoch: 1 }) },
    self: { id: 'function' as BrokerId },
    leadOnce: (work, ends) => orAbort(isTaken ? never : (done.push('leads'), work()), ends),
  });
  const ask = () => (done.push('asked'), Promise.resolve());
  return { clock, done, look: () => clock.run(lookOnce({ topic: TOPIC, pressures: PRESSURES }, ask, signal)) };
}

test.each([
  { known: 'nothing', sampledMs: [] },
  { known: 'what is old', sampledMs: [NOW_MS - NUDGE_MS, NOW_MS - NUDGE_MS] },
])('with $known known of the topic, it leads, says what is throttled, and has that topic looked at', async ({ sampledMs }) => {
  const { done, look } = looking({ sampledMs });
  await look();
  expect(done).toEqual(LOOKED);
});

test('it may look again NUDGE_MS later, and no earlier', async () => {
  const { clock, done, look } = looking({});
  await look();
  await clock.advance(NUDGE_MS - 1);
  await look();
  expect(done).toHaveLength(LOOKED.length);
  await clock.advance(1);
  await look();
  expect(done).toHaveLength(2 * LOOKED.length);
});

test('a topic that anybody has looked at a moment ago is worth no lease', async () => {
  const { done, look } = looking({ sampledMs: [NOW_MS - NUDGE_MS + 1] });
  await look();
  expect(done).toEqual([]);
});

test('nor is it looked at again by whoever had to wait for the lease', async () => {
  const { done, look } = looking({ sampledMs: [undefined, NOW_MS - 1] });
  await look();
  expect(done).toEqual(['leads']);
});

test('each of a crowd waits another time before it asks for anything', async () => {
  const { clock, look } = looking({}, 0.75);
  const beganMs = clock.monotonicMs();
  await look();
  expect(clock.monotonicMs() - beganMs).toBe(LOOK_CROWD_MS * 0.75);
});

test('a process that leads is asked each time', async () => {
  const { done, look } = looking({ leader: 'process' });
  await look();
  await look();
  expect(done).toEqual(['asked', 'asked']);
});

test.each([
  { other: 'leads', world: { leader: 'function' } as const },
  { other: 'has looked', world: { sampledMs: [NOW_MS] } },
])('where another function $other, this one is quiet for half a lease, or up to a whole one', async ({ world }) => {
  for (const fraction of [0, 1]) {
    const { clock, done, look } = looking(world, fraction);
    await look();
    expect(done).toEqual([]);
    const quietMs = FUNCTION_LEASE_MS * (0.5 + 0.5 * fraction) - LOOK_CROWD_MS * fraction;
    await clock.advance(quietMs - 1);
    const beganMs = clock.monotonicMs();
    await look();
    // Nothing was asked for, and so nothing waited for.
    expect(clock.monotonicMs()).toBe(beganMs);
    expect(done).toEqual([]);
  }
});

test('the lease is waited for no longer than LOOK_LEASE_MS_MAX; with it, a look takes as long as it takes', async () => {
  const { clock, done, look } = looking({ isTaken: true });
  const beganMs = clock.monotonicMs();
  await expect(look()).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(clock.monotonicMs() - beganMs).toBe(LOOK_LEASE_MS_MAX);
  await look();
  expect(done).toEqual([]);
  const long = looking({ lookMs: 5 * LOOK_LEASE_MS_MAX });
  await long.look();
  expect(long.done).toEqual(LOOKED);
});

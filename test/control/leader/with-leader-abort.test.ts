import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createLeaderFinder } from '../../../src/control/leader/find-leader.ts';
import { createWithLeader, withLeaderFrom } from '../../../src/control/leader/with-leader.ts';
import type { Leader } from '../../../src/model/broker.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { untilAborted } from '../../faults/faulty-table.ts';
import { createVirtualClock, settle } from '../../simulation/virtual-clock.ts';
import { unavailable } from '../../simulation/world-faults.ts';
import { counting, depsOf, fails, forEver, leader, ok } from './calls.ts';

describe('an abort', () => {
  test('beforehand: nothing is looked for and nothing dialled', async () => {
    const clock = createVirtualClock();
    const getLeader = counting(clock, async () => leader);
    const fn = counting(clock, ok);
    const reason = new Error('gone');
    await expect(withLeaderFrom(depsOf(clock), AbortSignal.abort(reason), getLeader, fn)).rejects.toBe(reason);
    expect([getLeader.atMs, fn.atMs]).toEqual([[], []]);
  });

  test('during the wait, while it sleeps: at once, with its reason, and nothing is called any more', async () => {
    const clock = createVirtualClock();
    const caller = new AbortController();
    const getLeader = counting<Leader | undefined>(clock, async () => undefined);
    const waited = withLeaderFrom(depsOf(clock), caller.signal, getLeader, ok);
    await settle();
    expect(clock.sleeping()).toBe(2);
    const reason = new Error('gone');
    caller.abort(reason);
    await expect(waited).rejects.toBe(reason);
    await clock.advance(60_000);
    expect([getLeader.atMs.length, clock.sleeping()]).toEqual([1, 0]);
  });

  test('during backoff', async () => {
    const clock = createVirtualClock();
    const caller = new AbortController();
    const fn = counting(clock, fails(unavailable()));
    const waited = withLeaderFrom(depsOf(clock), caller.signal, async () => leader, fn);
    await settle();
    const reason = new Error('gone');
    caller.abort(reason);
    await expect(waited).rejects.toBe(reason);
    await clock.advance(60_000);
    expect([fn.atMs.length, clock.sleeping()]).toEqual([1, 0]);
  });

  test('between the leader and the dial: it is not dialled', async () => {
    const clock = createVirtualClock();
    const caller = new AbortController();
    const fn = counting(clock, ok);
    const reason = new Error('gone');
    const getLeader = async (): Promise<Leader> => {
      caller.abort(reason);
      return leader;
    };
    await expect(withLeaderFrom(depsOf(clock), caller.signal, getLeader, fn)).rejects.toBe(reason);
    expect(fn.atMs).toEqual([]);
  });

  test('during the call: one call, which is told', async () => {
    const clock = createVirtualClock();
    const caller = new AbortController();
    const told: unknown[] = [];
    const fn = counting(clock, ok);
    const waited = withLeaderFrom(
      depsOf(clock),
      caller.signal,
      async () => leader,
      async (_, signal) => {
        await fn();
        return untilAborted(signal).catch((reason: unknown) => {
          told.push(reason);
          throw new KelpError('indefinite', 'peer-indefinite', 'no answer', { cause: reason });
        });
      },
    );
    await settle();
    const reason = new Error('gone');
    caller.abort(reason);
    await expect(waited).rejects.toBe(reason);
    await clock.advance(60_000);
    expect([fn.atMs.length, told]).toEqual([1, [reason]]);
  });

  test('is not retried, wrapped or looking transient, nor is a time-out: and they stay two errors', async () => {
    const clock = createVirtualClock();
    for (const reason of [
      new DOMException('cancelled', 'AbortError'),
      new DOMException('late', 'TimeoutError'),
      new KelpError('unavailable', 'unavailable', 'temporarily unavailable, try again'),
    ]) {
      const caller = new AbortController();
      const wrapped = new KelpError('unavailable', 'table-unavailable', 'try again', { cause: new Error('deeper', { cause: reason }) });
      const fn = counting(clock, async () => {
        caller.abort(reason);
        throw wrapped;
      });
      await expect(clock.run(withLeaderFrom(depsOf(clock), caller.signal, async () => leader, fn))).rejects.toBe(reason);
      expect(fn.atMs).toHaveLength(1);
    }
  });

  test('of somebody else’s signal is no reason to ask again either', async () => {
    const clock = createVirtualClock();
    for (const name of ['AbortError', 'TimeoutError']) {
      const wrapped = new KelpError('unavailable', 'table-unavailable', 'try again', { cause: new DOMException('x', name) });
      const fn = counting(clock, fails(wrapped));
      await expect(clock.run(withLeaderFrom(depsOf(clock), forEver, async () => leader, fn))).rejects.toBe(wrapped);
      expect(fn.atMs).toHaveLength(1);
    }
  });

  test('a thousand times leaves no timer and no listener behind', async () => {
    const clock = createVirtualClock();
    const finder = createLeaderFinder({ table: createMemoryTable(), clock });
    const withLeader = createWithLeader({ ...depsOf(clock), finder });
    for (let n = 0; n < 1_000; n += 1) {
      const caller = new AbortController();
      const waited = withLeader(caller.signal, n % 2 === 0 ? ok : fails(unavailable()));
      await settle();
      caller.abort(new Error('gone'));
      await expect(waited).rejects.toThrow('gone');
      expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
    }
    expect(clock.sleeping()).toBe(0);
  });
});

describe('a request’s time that is over', () => {
  const timedOut = new KelpError('unavailable', 'timeout', 'the request was not done within its time');
  const refused = new KelpError('unavailable', 'peer-refused', 'broker a has not received drain');
  const unsure = new KelpError('indefinite', 'peer-indefinite', 'broker a may have received drain');

  async function ended(failure: KelpError | undefined, reason: Error): Promise<unknown> {
    const clock = createVirtualClock();
    const caller = new AbortController();
    const getLeader = async (): Promise<Leader | undefined> => (failure === undefined ? undefined : leader);
    const waited = withLeaderFrom(depsOf(clock), caller.signal, getLeader, fails(failure)).catch((error: unknown) => error);
    await clock.advance(1_000);
    caller.abort(reason);
    return waited;
  }

  test('says what kept it waiting', async () => {
    expect(await ended(refused, timedOut)).toMatchObject({
      kind: 'unavailable',
      code: 'no-leader',
      message: `no leader answered in time: ${refused.message}`,
      retryAfterMs: expect.any(Number),
      cause: refused,
    });
  });

  test('stays what it is where nothing is known, or what was asked may have been done; and so does any other reason', async () => {
    expect(await ended(undefined, timedOut)).toBe(timedOut);
    expect(await ended(unsure, timedOut)).toBe(timedOut);
    const gone = new KelpError('unavailable', 'cancelled', 'the caller has gone');
    expect(await ended(refused, gone)).toBe(gone);
  });
});

import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createLeaderFinder } from '../../../src/control/leader/find-leader.ts';
import { createWithLeader } from '../../../src/control/leader/with-leader.ts';
import type { Leader } from '../../../src/model/broker.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { LEADER_KNOWN_MS_MAX } from '../../../src/model/limits.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { createVirtualClock, settle } from '../../simulation/virtual-clock.ts';
import { unavailable } from '../../simulation/world-faults.ts';
import { depsOf, forEver, leader, next, ok } from './calls.ts';
import { writeLease } from './lease-items.ts';

describe('one caller and the others', () => {
  test('a cancel takes the shared read away from nobody', async () => {
    const clock = createVirtualClock();
    const memory = createMemoryTable();
    await writeLease(memory, { broker: 'a', url: 'http://a', epoch: 4 });
    let reads = 0;
    const table = interceptTable(memory, async (_, make, signal) => {
      reads += 1;
      await clock.sleep(100, signal);
      return make();
    });
    const withLeader = createWithLeader({ ...depsOf(clock), finder: createLeaderFinder({ table, clock }) });
    const leaves = new AbortController();
    const gone = withLeader(leaves.signal, ok);
    const stays = withLeader(forEver, async ({ url, epoch }) => ({ url, epoch }));
    await clock.advance(50);
    leaves.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    expect(await clock.run(stays)).toEqual({ url: 'http://a', epoch: 4 });
    expect(reads).toBe(1);
  });

  test('after a failure the leader is looked for anew, not after an error of the request itself', async () => {
    const clock = createVirtualClock();
    const table = createMemoryTable();
    await writeLease(table, { broker: 'a', url: 'http://a', epoch: 1 });
    const withLeader = createWithLeader({ ...depsOf(clock), finder: createLeaderFinder({ table, clock }) });
    const asked: string[] = [];
    const fn = async ({ url }: Leader): Promise<void> => {
      asked.push(url);
      if (asked.length === 1) {
        await writeLease(table, { broker: 'b', url: 'http://b', epoch: 2 });
        throw unavailable();
      }
      if (asked.length === 2) throw new KelpError('not-found', 'broker-not-found', 'x');
    };
    await expect(clock.run(withLeader(forEver, fn))).rejects.toMatchObject({ code: 'broker-not-found' });
    await clock.run(withLeader(forEver, fn));
    expect(asked).toEqual(['http://a', 'http://b', 'http://b']);
  });
});

describe('finding', () => {
  const openFinder = () => {
    const clock = createVirtualClock();
    const memory = createMemoryTable();
    let reads = 0;
    const table = interceptTable(memory, async (_, make) => {
      reads += 1;
      return make();
    });
    const finder = createLeaderFinder({ table, clock });
    return { clock, memory, finder, find: () => clock.run(finder.find(forEver)), reads: () => reads };
  };

  test('nobody was ever there, or the lease was released: undefined', async () => {
    const { memory, find } = openFinder();
    expect(await find()).toBeUndefined();
    await writeLease(memory, { broker: 'a', holder: '' });
    expect(await find()).toBeUndefined();
  });

  test('a leader is believed for a second, and then read again', async () => {
    const { clock, memory, find, reads } = openFinder();
    await writeLease(memory, { broker: 'a', epoch: 1 });
    expect(await find()).toEqual({ id: 'a', url: 'http://a', epoch: 1 });
    await writeLease(memory, { broker: 'b', epoch: 2 });
    await clock.advance(LEADER_KNOWN_MS_MAX - 1);
    expect(await find()).toMatchObject({ id: 'a' });
    expect(reads()).toBe(1);
    await clock.advance(1);
    expect(await find()).toMatchObject({ id: 'b' });
    expect(reads()).toBe(2);
  });

  test('one that is forgotten is read again at once; one that is learnt costs no read', async () => {
    const { memory, finder, find, reads } = openFinder();
    await writeLease(memory, { broker: 'a', epoch: 1 });
    finder.learn(leader);
    expect(await find()).toEqual(leader);
    expect(reads()).toBe(0);
    finder.forget();
    await find();
    expect(reads()).toBe(1);
  });

  test('goes by the newer epoch, whatever comes later', async () => {
    const { finder, find } = openFinder();
    finder.learn(next);
    finder.learn(leader);
    expect(await find()).toEqual(next);
  });

  test('one that is learnt while an older answer is on its way is kept', async () => {
    const clock = createVirtualClock();
    const table = interceptTable(createMemoryTable(), async (_, make, signal) => {
      const answer = await make();
      await clock.sleep(100, signal);
      return answer;
    });
    const finder = createLeaderFinder({ table, clock });
    const found = finder.find(forEver);
    await clock.advance(50);
    finder.learn(next);
    expect(await clock.run(found)).toEqual(next);
  });

  test('a read that nobody waits for any more ends, and the next caller has one of its own', async () => {
    const clock = createVirtualClock();
    let ended = 0;
    const table = interceptTable(createMemoryTable(), async (_, make, signal) => {
      await clock.sleep(100, signal).catch((reason: unknown) => {
        ended += 1;
        throw reason;
      });
      return make();
    });
    const finder = createLeaderFinder({ table, clock });
    const caller = new AbortController();
    const gone = finder.find(caller.signal);
    await settle();
    caller.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    expect(await clock.run(finder.find(forEver))).toBeUndefined();
    expect([ended, clock.sleeping()]).toEqual([1, 0]);
  });

  test('its errors are those of the table, for all who wait', async () => {
    const clock = createVirtualClock();
    const table = interceptTable(createMemoryTable(), async () => {
      throw unavailable();
    });
    const finder = createLeaderFinder({ table, clock });
    const results = await Promise.allSettled([finder.find(forEver), finder.find(forEver)]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    await expect(finder.find(forEver)).rejects.toMatchObject({ code: 'table-unavailable' });
  });
});

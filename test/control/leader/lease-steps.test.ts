import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import {
  type Claim,
  foundClaim,
  type LeaseAnswer,
  openClaims,
  readLease,
  release,
  renew,
  sendClaim,
} from '../../../src/control/leader/lease-steps.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import { LEASE_MARGIN_MS, LEASE_MS } from '../../../src/model/limits.ts';
import { mayTake, validForMs } from '../../../src/protocol/lease.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';
import { writeLease } from './lease-items.ts';

const { signal } = new AbortController();
const WAY_MS = 400;

/** A table that is far away: each request takes WAY_MS there, and its answer as long back. */
function openSteps() {
  const clock = createVirtualClock();
  const memory = createMemoryTable();
  const table = interceptTable(memory, async (_, make) => {
    await clock.sleep(WAY_MS, signal);
    const answer = await make();
    await clock.sleep(WAY_MS, signal);
    return answer;
  });
  const deps = { table, clock, self: { id: 'a' as BrokerId, url: 'http://a' } };
  return {
    clock,
    memory,
    deps,
    take: (claim: Claim): Promise<LeaseAnswer> => clock.run(sendClaim(deps, claim, signal)),
  };
}

const claimOf = (holder: string, seen?: Claim['seen']): Claim => ({ holder, seen, leaseMs: LEASE_MS });

describe('times', () => {
  test('a holder’s count from the sending of the write', async () => {
    const { clock, deps, take } = openSteps();
    await clock.advance(1_000);
    const { holding } = await take(claimOf('n'));
    expect(holding).toMatchObject({ holder: 'n', epoch: 1, version: 1, sentMs: 1_000 });
    if (holding === undefined) throw new Error('it was taken');
    expect(await clock.run(renew(deps, holding, signal))).toMatchObject({ holding: { version: 2, sentMs: 1_000 + 2 * WAY_MS } });
  });

  test('a waiter’s from the answer of the read, and from that of a write that was refused', async () => {
    const { clock, memory, deps, take } = openSteps();
    await writeLease(memory, { broker: 'b' });
    const watch = await clock.run(readLease(deps, undefined, signal));
    expect(watch.sinceMs).toBe(2 * WAY_MS);
    expect(await clock.run(readLease(deps, watch, signal))).toEqual(watch);
    expect(await take(claimOf('n'))).toMatchObject({ watch: { sinceMs: 6 * WAY_MS, lease: { broker: 'b' } }, holding: undefined });
  });

  test('so a holder has stopped before the quickest waiter begins, however long the ways are', async () => {
    let met = 0;
    for (let atMs = 0; atMs <= 4 * WAY_MS; atMs += 10) {
      const { clock, deps } = openSteps();
      const later = <T>(ms: number, step: () => Promise<T>): Promise<T> => clock.sleep(ms, signal).then(step);
      const [{ holding }, watch] = await clock.run(
        Promise.all([
          later(2 * WAY_MS, () => sendClaim(deps, claimOf('n'), signal)),
          later(atMs, () => readLease(deps, undefined, signal)),
        ]),
      );
      if (holding === undefined || watch.lease === undefined) continue;
      met += 1;
      const stopsMs = holding.sentMs + validForMs(holding, { nowMs: holding.sentMs, wallMs: 0 });
      expect(mayTake(watch, { nowMs: stopsMs + LEASE_MARGIN_MS - 1 })).toBe(false);
    }
    expect(met).toBeGreaterThan(50);
  });
});

describe('claims', () => {
  test('are found by their nonce, and count for nothing by themselves', async () => {
    const { clock, deps, take } = openSteps();
    await take({ ...claimOf('n'), predecessor: 'b' as BrokerId });
    const watch = await clock.run(readLease(deps, undefined, signal));
    const found = foundClaim([claimOf('m'), { ...claimOf('n'), predecessor: 'b' as BrokerId }], watch);
    expect(found).toMatchObject({ holder: 'n', epoch: 1, sentMs: -Infinity, predecessor: 'b' });
    if (found === undefined) throw new Error('it is there');
    expect(validForMs(found, { nowMs: 0, wallMs: 0 })).toBe(-Infinity);
    expect(foundClaim([claimOf('m')], watch)).toBeUndefined();
    expect((await clock.run(renew(deps, found, signal))).holding).toMatchObject({ holder: 'n', version: 2, predecessor: 'b' });
  });

  test('are open as long as they may still be done, or are', async () => {
    const { clock, deps, take } = openSteps();
    const none = await clock.run(readLease(deps, undefined, signal));
    const early = claimOf('early');
    expect(openClaims([early], none)).toEqual([early]);
    const { watch } = await take(early);
    const over = claimOf('over', watch.lease);
    expect(openClaims([early, claimOf('refused'), over], watch)).toEqual([early, over]);
    const released = await clock.run(release(deps, { holder: 'early', epoch: 1 }, signal));
    expect(released.lease).toMatchObject({ holder: '', epoch: 1, version: 2 });
    expect(openClaims([early, over], released)).toEqual([]);
  });
});

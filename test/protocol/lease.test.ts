import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { leaseKey } from '../../src/format/item-key.ts';
import { decodeLease } from '../../src/format/lease-item.ts';
import type { Lease } from '../../src/model/broker.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { FUNCTION_LEASE_MS } from '../../src/model/function-limits.ts';
import { LEADER_WATCH_MS, LEASE_MARGIN_MS, LEASE_MS, LEASE_RENEW_MS } from '../../src/model/limits.ts';
import {
  type LeaseClaim,
  leasePace,
  mayTake,
  releaseLease,
  renewLease,
  takeableInMs,
  takeLease,
  validForMs,
  watchAnswer,
  watchLease,
} from '../../src/protocol/lease.ts';

const { signal } = new AbortController();
const HOUR_MS = 3_600_000;

const claimOf = (holder: string): LeaseClaim => ({
  id: `broker-${holder}` as BrokerId,
  url: `http://${holder}`,
  holder,
  leaseMs: LEASE_MS,
});

/** A table with one lease, taken, renewed and released as leaders do. */
function openLease() {
  const table = createMemoryTable();
  const read = async (): Promise<Lease | undefined> => {
    const item = await table.get(leaseKey(), signal);
    return item === undefined ? undefined : decodeLease(item);
  };
  return {
    read,
    async take(seen: Lease | undefined, holder: string): Promise<boolean> {
      const { item, condition } = takeLease(seen, claimOf(holder));
      return (await table.put(leaseKey(), item, condition, signal)).applied;
    },
    renew: async (held: { holder: string; epoch: number }) => (await table.update(leaseKey(), renewLease(held), signal)).applied,
    release: async (held: { holder: string; epoch: number }) => (await table.update(leaseKey(), releaseLease(held), signal)).applied,
  };
}

describe('taking', () => {
  test('one of two that have read the same gets it', async () => {
    const lease = openLease();
    expect(await lease.take(undefined, 'a')).toBe(true);
    expect(await lease.take(undefined, 'b')).toBe(false);
    const seen = await lease.read();
    expect(await lease.take(seen, 'b')).toBe(true);
    expect(await lease.take(seen, 'c')).toBe(false);
    expect(await lease.read()).toMatchObject({ holder: 'b', broker: 'broker-b', url: 'http://b', epoch: 2, version: 2 });
  });

  test('is refused once the holder has renewed, or released', async () => {
    const lease = openLease();
    await lease.take(undefined, 'a');
    const before = await lease.read();
    await lease.renew({ holder: 'a', epoch: 1 });
    expect(await lease.take(before, 'b')).toBe(false);
    const renewed = await lease.read();
    await lease.release({ holder: 'a', epoch: 1 });
    expect(await lease.take(renewed, 'b')).toBe(false);
    expect(await lease.take(await lease.read(), 'b')).toBe(true);
  });

  test('never uses an epoch again, also over a released lease', async () => {
    const lease = openLease();
    for (let epoch = 1; epoch <= 5; epoch += 1) {
      expect(await lease.take(await lease.read(), `n${epoch}`)).toBe(true);
      expect(await lease.read()).toMatchObject({ epoch });
      expect(await lease.release({ holder: `n${epoch}`, epoch })).toBe(true);
    }
  });
});

describe('renewal and release', () => {
  test('are of the holder and the epoch: nobody else’s lease changes', async () => {
    const lease = openLease();
    await lease.take(undefined, 'a');
    await lease.take(await lease.read(), 'b');
    const stands = await lease.read();
    for (const held of [
      { holder: 'a', epoch: 1 },
      { holder: 'a', epoch: 2 },
      { holder: 'b', epoch: 1 },
    ]) {
      expect([await lease.renew(held), await lease.release(held)]).toEqual([false, false]);
    }
    expect(await lease.read()).toEqual(stands);
  });

  test('each raise the version, and a late copy after the release does nothing', async () => {
    const lease = openLease();
    const held = { holder: 'a', epoch: 1 };
    await lease.take(undefined, 'a');
    await lease.renew(held);
    await lease.release(held);
    expect(await lease.read()).toMatchObject({ holder: '', epoch: 1, version: 3 });
    expect([await lease.renew(held), await lease.release(held)]).toEqual([false, false]);
    expect(await lease.read()).toMatchObject({ holder: '', version: 3 });
  });
});

const standing: Lease = { holder: 'a', broker: 'x' as BrokerId, url: 'u', epoch: 3, version: 7, leaseMs: LEASE_MS };

describe('waiting', () => {
  test('times an unchanged version from the first answer that showed it', () => {
    let watch = watchLease(undefined, standing, 100);
    watch = watchLease(watch, standing, 2_000);
    expect(watch.sinceMs).toBe(100);
    expect(mayTake(watch, { nowMs: 100 + LEASE_MS - 1 })).toBe(false);
    expect(mayTake(watch, { nowMs: 100 + LEASE_MS })).toBe(true);
    expect(takeableInMs(watch, { nowMs: 100 })).toBe(LEASE_MS);
  });

  test('J-28: begins anew with every version, and every epoch', () => {
    const watch = watchLease(undefined, standing, 0);
    expect(watchLease(watch, { ...standing, version: 8 }, 2_999).sinceMs).toBe(2_999);
    expect(watchLease(watch, { ...standing, epoch: 4 }, 2_999).sinceMs).toBe(2_999);
  });

  test('is over at once when nobody holds it', () => {
    expect(mayTake(watchLease(undefined, undefined, 5), { nowMs: 5 })).toBe(true);
    expect(mayTake(watchLease(undefined, { ...standing, holder: '' }, 5), { nowMs: 5 })).toBe(true);
  });

  test('takes as long as the holder’s lease, not the waiter’s own', () => {
    const watch = watchLease(undefined, { ...standing, leaseMs: FUNCTION_LEASE_MS, expiresMs: HOUR_MS }, 0);
    expect(mayTake(watch, { nowMs: LEASE_MS })).toBe(false);
    expect(mayTake(watch, { nowMs: FUNCTION_LEASE_MS })).toBe(true);
  });

  test('goes by an expiry only where the waiter lives short, and only by one that is there', () => {
    const expiring = watchLease(undefined, { ...standing, leaseMs: FUNCTION_LEASE_MS, expiresMs: HOUR_MS }, 0);
    expect(mayTake(expiring, { nowMs: 0, wallMs: HOUR_MS + LEASE_MARGIN_MS - 1 })).toBe(false);
    expect(mayTake(expiring, { nowMs: 0, wallMs: HOUR_MS + LEASE_MARGIN_MS })).toBe(true);
    expect(mayTake(expiring, { nowMs: 0 })).toBe(false);
    expect(mayTake(watchLease(undefined, standing, 0), { nowMs: 0, wallMs: 2 ** 50 })).toBe(false);
  });

  test('takes the holder’s word as a read, an older word as none, and another epoch’s as nothing', () => {
    const watch = watchLease(undefined, standing, 100);
    expect(watchAnswer(watch, { epoch: 3, version: 8 }, 900)).toEqual({ lease: { ...standing, version: 8 }, sinceMs: 900 });
    expect(watchAnswer(watch, { epoch: 3, version: 7 }, 900)).toEqual(watch);
    // A renewal whose answer was lost: the table is ahead of what the holder knows.
    expect(watchAnswer(watch, { epoch: 3, version: 6 }, 900)).toEqual(watch);
    expect(watchAnswer(watch, { epoch: 4, version: 9 }, 900)).toBeUndefined();
    expect(watchAnswer(watchLease(undefined, undefined, 0), { epoch: 1, version: 1 }, 900)).toBeUndefined();
  });
});

describe('holding', () => {
  const held = { sentMs: 1_000, leaseMs: LEASE_MS };

  test('counts from the sending, and ends a margin before the first waiter may take it', () => {
    expect(validForMs(held, { nowMs: 1_000, wallMs: 0 })).toBe(LEASE_MS - LEASE_MARGIN_MS);
    expect(validForMs(held, { nowMs: 1_000 + LEASE_MS - LEASE_MARGIN_MS, wallMs: 0 })).toBe(0);
    // The earliest answer that a waiter can have is one at the very moment of the sending.
    const watch = watchLease(undefined, standing, held.sentMs);
    const stopMs = held.sentMs + validForMs(held, { nowMs: held.sentMs, wallMs: 0 });
    expect(takeableInMs(watch, { nowMs: stopMs })).toBe(LEASE_MARGIN_MS);
  });

  test('counts nothing before a write was answered', () => {
    expect(validForMs({ ...held, sentMs: -Infinity }, { nowMs: 0, wallMs: 0 })).toBe(-Infinity);
  });

  test('F10: of one that doesn’t renew ends by the wall clock, too, for its other clock may have stood still', () => {
    const frozen = { sentMs: 0, leaseMs: FUNCTION_LEASE_MS, expiresMs: HOUR_MS };
    expect(validForMs(frozen, { nowMs: 1, wallMs: HOUR_MS - LEASE_MARGIN_MS })).toBe(0);
    expect(validForMs(frozen, { nowMs: 1, wallMs: -HOUR_MS })).toBeLessThan(FUNCTION_LEASE_MS);
  });
});

test('a process’s lease is kept as the limits say, with time for two renewals; a shorter one in proportion', () => {
  expect(leasePace(LEASE_MS)).toMatchObject({ marginMs: LEASE_MARGIN_MS, renewMs: LEASE_RENEW_MS, watchMs: LEADER_WATCH_MS });
  for (const leaseMs of [60, 600, LEASE_MS, FUNCTION_LEASE_MS]) {
    const { marginMs, renewMs, watchMs, attemptMs } = leasePace(leaseMs);
    expect(renewMs + attemptMs).toBeLessThanOrEqual(leaseMs - marginMs);
    expect(watchMs).toBeLessThanOrEqual(leaseMs / 6);
  }
});

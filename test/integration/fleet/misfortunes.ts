import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { LEASE_MS } from '../../../src/model/limits.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { brokersOf, drain, expectStatus } from './fleet-api.ts';
import type { Fleet, FleetBroker } from './fleet.ts';

/** What becomes of one broker, who is there again afterwards. */
export type Misfortune = 'kill' | 'pause' | 'drain' | 'stop';
const MISFORTUNES: readonly [Misfortune, ...Misfortune[]] = ['kill', 'pause', 'drain', 'stop'];
/** Dead for less than a lease, or for more. */
const DOWN_MS_MAX = 2 * LEASE_MS;
/** Beyond its lease. */
const PAUSED_MS_MAX = LEASE_MS;
const GONE = { timeout: 10 * LEASE_MS };

/** All of them in an order of the seed's, each on a broker of the seed's, again and again. */
export function* misfortunes(random: SeededRandom, brokers: readonly FleetBroker[]): Generator<readonly [Misfortune, FleetBroker]> {
  for (;;) {
    const left = [...MISFORTUNES];
    while (left.length > 0) {
      const [kind] = left.splice(random.integer(left.length), 1);
      if (kind !== undefined) yield [kind, random.pick(brokers as [FleetBroker, ...FleetBroker[]])];
    }
  }
}

/** Resolves once the broker runs again; it may not have registered yet. */
export async function befall(fleet: Fleet, [kind, broker]: readonly [Misfortune, FleetBroker], random: SeededRandom): Promise<void> {
  if (kind === 'kill') {
    await broker.kill();
    await sleep(random.integer(DOWN_MS_MAX)); // how long it is away is the point
    await broker.start();
  }
  if (kind === 'pause') {
    broker.pause();
    await sleep(LEASE_MS + random.integer(PAUSED_MS_MAX)); // the same
    broker.resume();
  }
  if (kind === 'drain') {
    const [other] = fleet.others(broker);
    const ids = async (): Promise<string[]> => (await brokersOf(other.url)).map(({ id }) => id);
    // It may have been taken for dead a moment ago, and comes back.
    await expect.poll(ids, GONE).toContain(broker.id);
    await expectStatus(drain(other.url, broker.id), 202);
    await expect.poll(ids, GONE).not.toContain(broker.id);
    await broker.kill();
    await broker.start();
  }
  if (kind === 'stop') {
    expect(await broker.stop()).toMatchObject({ code: 0 });
    await broker.start();
  }
}

import { expect, test } from 'vitest';
import { type BrokerRecord, IDLE } from '../../../src/model/broker.ts';
import { settle } from '../../simulation/virtual-clock.ts';
import { faultyTable } from '../../simulation/world-faults.ts';
import { brokerId, putBroker } from '../some-broker.ts';
import { KEY, site } from './registration-site.ts';

const { signal } = new AbortController();
const A = brokerId('a');

test('a fleet registers once for all of its instances, and never heartbeats', async () => {
  const { clock, item, memory, process } = site();
  const table = faultyTable(memory, {});
  const fleet = [1, 2, 3].map(() => process({ kind: 'fleet' }, table));
  for (const instance of fleet) {
    instance.start();
    await settle();
  }
  await clock.advance(60_000);
  expect(await item()).toMatchObject({ kind: 'fleet', instance: 'fleet', version: 1, load: IDLE });
  expect(table.calls.get('put broker')).toBe(1);
  expect(table.calls.get('get broker')).toBe(3);
  expect(table.calls.has('update broker')).toBe(false);
  expect(fleet.every(({ state }) => state.ended)).toBe(true);
});

test('a fleet that moved to another address says so', async () => {
  const { clock, item, process } = site();
  process({ kind: 'fleet' }).start();
  await clock.advance(0);
  process({ kind: 'fleet', self: { id: A, url: 'https://new' } }).start();
  await clock.advance(0);
  expect(await item()).toMatchObject({ url: 'https://new', version: 2 });
});

test('a fleet looks again when it is run again, once; what stands, stands', async () => {
  const { clock, item, memory, process } = site();
  const table = faultyTable(memory, {});
  const fleet = process({ kind: 'fleet' }, table);
  fleet.start();
  await clock.advance(0);
  fleet.start();
  await clock.advance(0);
  expect(await item()).toMatchObject({ version: 1 });
  expect(table.calls.get('get broker')).toBe(2);
  expect(table.calls.get('put broker')).toBe(1);
});

test('a fleet that was taken for dead comes back by any warm instance, by one of those that look at once, with a version that goes on', async () => {
  const { clock, item, memory, process } = site();
  const fleet = [1, 2, 3].map(() => process({ kind: 'fleet' }));
  for (const instance of fleet) instance.start();
  await clock.advance(0);
  await memory.delete(KEY, [], signal);
  for (const instance of fleet) instance.start();
  await clock.advance(0);
  expect(await item()).toMatchObject({ kind: 'fleet', instance: 'fleet', version: 2 });
  expect(fleet.flatMap(({ logs }) => logs).filter((log) => log === 'registered')).toHaveLength(2);
  expect(fleet.map(({ counts }) => counts.get('kelp.registrations.deleted') ?? 0)).toContain(1);
  expect(fleet.every(({ counts }) => !counts.has('kelp.registrations.lost'))).toBe(true);
});

test('a fleet that was drained is left alone by its warm instances, and comes back by the next that starts', async () => {
  const { clock, item, memory, process } = site();
  const warm = process({ kind: 'fleet' });
  warm.start();
  await clock.advance(0);
  const record = (await item()) as BrokerRecord;
  await putBroker(memory, { ...record, drainPerSecond: 20, drained: true, version: 3 });
  warm.start();
  await clock.advance(0);
  expect(await item()).toMatchObject({ drained: true, version: 3 });
  expect(warm.counts.has('kelp.registrations.deleted')).toBe(false);
  process({ kind: 'fleet' }).start();
  await clock.advance(0);
  const back = await item();
  expect(back).toMatchObject({ kind: 'fleet', version: 4 });
  expect(back).not.toHaveProperty('drained');
  expect(back).not.toHaveProperty('drainPerSecond');
});

test('a fleet that is being drained goes on with that, whichever instance starts meanwhile', async () => {
  const { clock, item, memory, process } = site();
  process({ kind: 'fleet' }).start();
  await clock.advance(0);
  await putBroker(memory, { ...((await item()) as BrokerRecord), drainPerSecond: 20, version: 2 });
  process({ kind: 'fleet' }).start();
  await clock.advance(0);
  expect(await item()).toMatchObject({ drainPerSecond: 20, version: 2 });
});

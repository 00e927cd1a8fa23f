import { describe, expect, test } from 'vitest';
import { createBrokerDirectory } from '../../../src/control/brokers/directory.ts';
import { brokerKey } from '../../../src/format/item-key.ts';
import { BROKERS_KNOWN_MS_MAX } from '../../../src/model/limits.ts';
import { TENANT_DEFAULT } from '../../../src/model/topic.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';
import { unavailable } from '../../simulation/world-faults.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';

const { signal } = new AbortController();

async function directoryOf(...ids: readonly string[]) {
  const memory = createMemoryTable();
  for (const id of ids) await putBroker(memory, someBroker(id));
  const clock = createVirtualClock();
  const hold: { gate: Promise<void>; fails: boolean } = { gate: Promise.resolve(), fails: false };
  let queries = 0;
  const table = interceptTable(memory, async (call, make) => {
    if (call.op !== 'query') return make();
    queries += 1;
    const answer = await make();
    await hold.gate;
    if (hold.fails) throw unavailable();
    return answer;
  });
  const reads: number[] = [];
  const directory = createBrokerDirectory({ table, clock, onRead: (brokers) => reads.push(brokers.length) });
  const list = async (fresh: boolean) => (await directory.list({ fresh }, signal)).map(({ id }) => id);
  const addresses = async (...of: readonly string[]) => (await directory.addresses(of.map(brokerId), signal)).map(({ id }) => id);
  return { memory, clock, hold, directory, list, addresses, reads, queries: () => queries };
}

describe('the list of brokers', () => {
  test('is in order, and believed for a while unless it must be fresh', async () => {
    const { clock, list, memory, queries, reads } = await directoryOf('c', 'a', 'b');
    expect(await list(false)).toEqual(['a', 'b', 'c']);
    await putBroker(memory, someBroker('d'));
    expect(await list(false)).toEqual(['a', 'b', 'c']);
    expect(queries()).toBe(1);
    expect(await list(true)).toEqual(['a', 'b', 'c', 'd']);
    await memory.delete(brokerKey(TENANT_DEFAULT, brokerId('a')), [], signal);
    await clock.advance(BROKERS_KNOWN_MS_MAX);
    expect(await list(false)).toEqual(['b', 'c', 'd']);
    expect(reads).toEqual([3, 4, 3]);
  });

  test('is read once for all who ask at a time; one who leaves takes it from nobody', async () => {
    const { directory, hold, list, queries } = await directoryOf('a');
    const { promise, resolve } = Promise.withResolvers<void>();
    hold.gate = promise;
    const leaving = new AbortController();
    const first = directory.list({ fresh: true }, leaving.signal);
    const others = [list(true), list(false)];
    leaving.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    resolve();
    expect(await Promise.all(others)).toEqual([['a'], ['a']]);
    expect(queries()).toBe(1);
  });

  test('that could not be read is asked for anew', async () => {
    const { hold, list } = await directoryOf('a');
    hold.fails = true;
    await expect(list(false)).rejects.toMatchObject({ code: 'table-unavailable' });
    hold.fails = false;
    expect(await list(false)).toEqual(['a']);
  });

  test('does not forget what was learnt while it was read', async () => {
    const { directory, hold, list } = await directoryOf('a', 'b');
    const { promise, resolve } = Promise.withResolvers<void>();
    hold.gate = promise;
    const reading = list(true);
    directory.learn([someBroker('a', { version: 9, drainPerSecond: 5 }), someBroker('n')]);
    directory.forget(brokerId('b'));
    resolve();
    expect(await reading).toEqual(['a', 'n']);
    expect(directory.known(brokerId('a'))).toMatchObject({ version: 9, drainPerSecond: 5 });
    // The next read is newer than what was learnt.
    expect(await list(true)).toEqual(['a', 'b']);
  });
});

describe('addresses', () => {
  test('keep the order, and leave out who is nobody', async () => {
    const { directory, addresses } = await directoryOf('a', 'b');
    expect(await directory.addresses([brokerId('b'), brokerId('a')], signal)).toEqual([
      { id: 'b', url: 'http://b:80' },
      { id: 'a', url: 'http://a:80' },
    ]);
    expect(await addresses('x', 'a')).toEqual(['a']);
  });

  test('cost a read where one is unknown, and where what is known is old: a broker may live elsewhere by now', async () => {
    const { directory, addresses, clock, memory, queries } = await directoryOf('a', 'b');
    await addresses('a');
    expect(await addresses('a', 'b')).toEqual(['a', 'b']);
    expect(queries()).toBe(1);
    await putBroker(memory, someBroker('c'));
    expect(await addresses('c')).toEqual(['c']);
    expect(queries()).toBe(2);
    await putBroker(memory, someBroker('a', { url: 'http://elsewhere:1' }));
    await clock.advance(BROKERS_KNOWN_MS_MAX);
    expect(await directory.addresses([brokerId('a')], signal)).toEqual([{ id: 'a', url: 'http://elsewhere:1' }]);
    expect(queries()).toBe(3);
  });

  test('of nobody are looked for once in a while', async () => {
    const { addresses, clock, memory, queries } = await directoryOf('a');
    expect(await addresses('x')).toEqual([]);
    expect(await addresses('x', 'a')).toEqual(['a']);
    expect(queries()).toBe(1);
    await putBroker(memory, someBroker('x'));
    await clock.advance(BROKERS_KNOWN_MS_MAX);
    expect(await addresses('x')).toEqual(['x']);
  });
});

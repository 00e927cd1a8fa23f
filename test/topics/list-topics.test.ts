import { describe, expect, test } from 'vitest';
import { oneSegment } from '../publish/requests.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';

const create = (world: TestWorld, broker: TestBroker, name = 't', settings = oneSegment) =>
  world.run(broker.topics.create(name, settings, world.signal));

describe('a list of topics', () => {
  const names = (prefix: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(3, '0')}`);
  const pageThrough = async (world: TestWorld, limit: number, between: () => Promise<void> = async () => undefined): Promise<string[]> => {
    const { topics } = world.broker();
    const seen: string[] = [];
    let after: string | undefined;
    for (let pages = 0; pages < 1_000; pages += 1) {
      const page = await world.run(topics.list({ limit, ...(after === undefined ? {} : { after }) }, world.signal));
      expect(page.topics.length).toBeLessThanOrEqual(limit);
      seen.push(...page.topics.map(({ name }) => name));
      if (page.next === undefined) return seen;
      after = page.next;
      await between();
    }
    throw new Error('it never ends');
  };

  test('is in order of names, page by page, each once', async () => {
    const world = createTestWorld();
    const broker = world.broker();
    const all = ['a', 'a-b', 'a.b', 'a0', 'a_', 'aa', 'b', 'z9'];
    for (const name of all.toReversed()) await create(world, broker, name);
    for (const limit of [1, 2, 3, 8, 100]) expect(await pageThrough(world, limit)).toEqual(all);
    const after = await world.run(broker.topics.list({ limit: 2, after: 'a9-not-there' }, world.signal));
    expect(after.topics.map(({ name }) => name)).toEqual(['a_', 'aa']);
  });

  test('J-27: has each topic that was there throughout once, while others come and go', async () => {
    const world = createTestWorld();
    const broker = world.broker();
    const kept = names('kept', 40);
    const doomed = names('l-doomed', 10);
    for (const name of [...kept, ...doomed]) await create(world, broker, name);
    const fresh = names('new', 10);
    const seen = await pageThrough(world, 7, async () => {
      const [gone, made] = [doomed.shift(), fresh.shift()];
      if (gone !== undefined) await world.run(broker.topics.delete(gone, world.signal));
      if (made !== undefined) await create(world, broker, made);
    });
    expect(seen.filter((name) => name.startsWith('kept'))).toEqual(kept);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('is empty where there is none', async () => {
    expect(await pageThrough(createTestWorld(), 10)).toEqual([]);
  });
});

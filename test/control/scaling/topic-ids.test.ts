import { expect, test } from 'vitest';
import { readTopicIds } from '../../../src/control/scaling/topic-ids.ts';
import { encodeName } from '../../../src/format/name-item.ts';
import { nameKey } from '../../../src/format/item-key.ts';
import type { TopicId } from '../../../src/model/ids.ts';
import { TOPICS_LIST_MAX } from '../../../src/model/limits.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { createTestWorld } from '../../simulation/test-broker.ts';

test('all topics, page by page, in order of their names, and none of a name that is free', async () => {
  const world = createTestWorld();
  const names = Array.from({ length: 2 * TOPICS_LIST_MAX + 7 }, (_, n) => `name-${String(n).padStart(5, '0')}`);
  for (const [n, name] of names.entries()) {
    const topic = n % 3 === 0 ? {} : { topic: `t${n}` as TopicId };
    const record = encodeName({ tenant: 'main', name, nextSegment: 0, version: 1, ...topic });
    await world.table.put(nameKey('main', name), record, [], world.signal);
  }
  const calls: string[] = [];
  const table = interceptTable(world.table, ({ name }, make) => (calls.push(name), make()));
  expect(await readTopicIds(table, world.signal)).toEqual(names.flatMap((_, n) => (n % 3 === 0 ? [] : `t${n}`)));
  expect(calls).toEqual(['query name', 'query name', 'query name']);
});

test('where there is none, there is none', async () => {
  const world = createTestWorld();
  expect(await readTopicIds(world.table, world.signal)).toEqual([]);
});

import { expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { createProcessMemory } from '../../../src/control/scaling/scaling-memory.ts';
import { scaleTopic } from '../../../src/control/scaling/scale-topic.ts';
import { createHotKeyTeller } from '../../../src/control/scaling/tell-hot-keys.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { at as partitionAt, createFloodWorld } from './flood-world.ts';
import { createChanger } from './some-changer.ts';

test('whoever leads no more once it has read the loads tells no hot keys and remembers nothing, though it changes no segment', async () => {
  const world = createFloodWorld();
  const a = await world.live('a');
  const topic = await world.flooded();
  let [isOver, leads] = [false, true];
  const table = interceptTable(world.table, (call, make) => {
    if (isOver && call.name === 'get head') leads = false;
    return make();
  });
  const mustLead = (): void => {
    if (!leads) throw new KelpError('fenced', 'fenced', 'another one leads');
  };
  const telemetry = createRecordingTelemetry();
  const memory = createProcessMemory(world.clock);
  const changer = createChanger({ table, clock: world.clock, random: world.random.fork('leader'), self: a });
  const deps = { ...changer, mustLead, memory, hotKeys: createHotKeyTeller({ telemetry }), tickMs: 5_000 };
  const look = () => world.run(scaleTopic(deps, { topic: topic.id, dryRun: true, throttled: new Set() }, world.signal));
  const flow = () => world.flow(topic, partitionAt(40_000, 3_000), { seconds: 5 });

  await look();
  isOver = true;
  await flow();
  const before = await memory.read(topic.id, world.signal);
  await expect(look()).rejects.toMatchObject({ kind: 'fenced' });
  expect(telemetry.logs).toEqual([]);
  expect(telemetry.total('kelp.hot_keys')).toBe(0);
  expect(await memory.read(topic.id, world.signal)).toBe(before);

  [isOver, leads] = [false, true];
  await flow();
  expect((await look()).plan.hotKeys).toHaveLength(1);
  expect(telemetry.total('kelp.hot_keys')).toBe(1);
  expect(await memory.read(topic.id, world.signal)).not.toBe(before);
});

import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { watchTopology } from '../topology/topology-watch.ts';
import { createTestWorld, type TestBroker, type TestWorld } from './test-broker.ts';
import { createKiller } from './world-faults.ts';

export type Scenario<T> = {
  /** What is there before; nobody is killed here. */
  readonly prepare: (world: TestWorld) => Promise<T>;
  /** What the broker does that is killed on the way. */
  readonly act: (broker: TestBroker, there: T, world: TestWorld) => Promise<unknown>;
  /** What must hold afterwards, whatever the step was. */
  readonly check: (world: TestWorld, there: T) => Promise<void>;
};

const STEPS_MAX = 1_000;

/**
 * Runs the scenario again and again, and kills the broker at its first call of a store, at its second, and so on: once before
 * the call takes effect and once after it; and looks at every version of every topic. Answers how many calls there were.
 */
export async function killAtEveryStep<T>(scenario: Scenario<T>): Promise<number> {
  for (let at = 1; at <= STEPS_MAX; at += 1) {
    const survived = [await killAt(scenario, at, false), await killAt(scenario, at, true)];
    if (survived.every(Boolean)) return at - 1;
  }
  throw new Error('it never ends');
}

/** Whether it was over before that step. */
async function killAt<T>(scenario: Scenario<T>, at: number, done: boolean): Promise<boolean> {
  const topology = watchTopology(createMemoryTable());
  const world = createTestWorld(1, topology.table);
  const there = await scenario.prepare(world);
  const killer = createKiller(world, { at, done });
  const broker = world.broker({ table: killer.table, store: killer.store });
  const act = async (): Promise<string> => {
    await scenario.act(broker, there, world);
    await broker.notes.idle();
    return 'survived';
  };
  const end = await world.run(Promise.race([act(), killer.struck.then(() => 'killed')]));
  const check = async (): Promise<void> => {
    await scenario.check(world, there);
    const problems = topology.problems();
    if (problems.length > 0) throw new Error(problems.join('; '));
  };
  await check().catch((cause: unknown) => {
    throw new Error(`${end} at call ${at}, which was ${done ? '' : 'not '}done`, { cause });
  });
  return end === 'survived';
}

import { expect } from 'vitest';
import { interceptTable } from '../../simulation/intercept.ts';
import type { Leading, LeaderOptions, TestLeader } from '../failover/world.ts';
import { createFloodWorld, type FloodWorld } from './flood-world.ts';

// A leader that looks by itself, on a virtual clock: `a` leads, `b` is there.

export const TICK_MS = 5_000;

export type Scene = {
  readonly world: FloodWorld;
  readonly leader: TestLeader;
  readonly leading: Leading;
  /** What was asked of the table by the leader, such as `get head`. */
  readonly calls: string[];
};

/** `before`: what there is when it begins to lead. */
export async function scene(options: Partial<LeaderOptions> = {}, before?: (world: FloodWorld) => Promise<void>): Promise<Scene> {
  const world = createFloodWorld();
  await before?.(world);
  const [a] = [await world.live('a'), await world.live('b')];
  const calls: string[] = [];
  const table = interceptTable(world.table, (call, make) => (calls.push(call.name), make()));
  const leader = world.leader(a, { table, rebalanceMs: TICK_MS, ...options });
  return { world, leader, leading: leader.lead(), calls };
}

/** The attributes of each time that it was counted. */
export const counted = ({ leader }: Scene, name: string): string[] =>
  leader.telemetry.counts.flatMap((count) => (count.name === name ? Object.values(count.attributes).join(' ') : []));
/** Of a test in which nothing failed. */
export async function end({ world, leader, leading }: Scene): Promise<void> {
  expect(world.watch.problems()).toEqual([]);
  expect(leader.telemetry.total('kelp.rebalance.failed')).toBe(0);
  await leading.stop();
}

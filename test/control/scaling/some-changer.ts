import type { MoveDeps } from '../../../src/control/failover/move-segments.ts';
import { createMessenger } from '../../../src/control/failover/tell-brokers.ts';
import { createTestLeader, type LeaderOptions } from '../failover/world.ts';

/** A leader that splits and merges as it is told. Nobody is down, and it tells nobody anything. */
export function createChanger(options: LeaderOptions): MoveDeps {
  const { deps } = createTestLeader(options);
  return { ...deps, messenger: createMessenger(deps), living: () => [], unfit: () => new Set() };
}

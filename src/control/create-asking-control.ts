import type { Peers } from '../ports/peers.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { createAskLeader } from './ask-leader.ts';
import { createBrokerDirectory } from './brokers/directory.ts';
import { controlByLeader } from './control-by-leader.ts';
import type { ControlPlane } from './create-control.ts';
import { createLeaderFinder } from './leader/find-leader.ts';
import { createWithLeader } from './leader/with-leader.ts';

export type AskingDeps = TopologyDeps & {
  readonly telemetry: Telemetry;
  /** Undefined: there is no way to ask the leader, and what needs one is refused: error `unavailable`/`no-leader`. */
  readonly peers?: Peers;
};

/**
 * Of an instance that never leads, holds no lease and registers nowhere: where clocks stand still during work, nobody may go by
 * them. What needs a leader is asked of one.
 */
export function createAskingControl(deps: AskingDeps): ControlPlane {
  const finder = createLeaderFinder(deps);
  const directory = createBrokerDirectory(deps);
  const leader = createAskLeader({ ...deps, own: undefined, finder, withLeader: createWithLeader({ ...deps, finder }) });
  return {
    ...controlByLeader({ ...deps, self: undefined, directory, finder, leader }),
    directory,
    leaderService: leader,
    operations: {},
    run: () => Promise.resolve(),
    leave: () => Promise.resolve(false),
  };
}
